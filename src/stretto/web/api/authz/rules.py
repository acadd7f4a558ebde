"""RBAC: the access that a rule grants, and the rules of a user."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from stretto.api.wire.kinds import Kind
from stretto.web.api.authn.users import MASTERS, User, account_name
from stretto.web.api.storage import ObjectStorage, StoredItem

Json = dict[str, Any]

GROUP: Final = "rbac.authorization.k8s.io"
"""API group of roles."""
ROLE: Final = Kind(GROUP, "v1", "Role", "roles")
ROLE_BINDING: Final = Kind(GROUP, "v1", "RoleBinding", "rolebindings")
CLUSTER_ROLE: Final = Kind(GROUP, "v1", "ClusterRole", "clusterroles", namespaced=False)
CLUSTER_ROLE_BINDING: Final = Kind(
    GROUP, "v1", "ClusterRoleBinding", "clusterrolebindings", namespaced=False
)
_ANY: Final = "*"


class AccessRequest(msgspec.Struct, frozen=True):
    """A requested access."""

    #: Verb.
    verb: str
    #: API group.
    group: str = ""
    #: Resource; empty for a path.
    resource: str = ""
    #: Subresource.
    subresource: str = ""
    #: Namespace; empty for all namespaces.
    namespace: str = ""
    #: Name of the object; empty for a collection.
    name: str = ""
    #: Path outside the API of resources.
    path: str = ""

    @property
    def full_resource(self) -> str:
        """The resource with its subresource."""
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource


class AccessAnswer(msgspec.Struct, frozen=True):
    """Result of an authorization."""

    #: True if the access is allowed.
    allowed: bool
    #: Reason.
    reason: str = ""


def access_of(storage: ObjectStorage, user: User, wanted: AccessRequest) -> AccessAnswer:
    """Return whether a user has a right, with the reason.

    The reason of a refusal names the roles that bindings of the user refer to and that do not
    exist.
    """
    if MASTERS in user.groups:
        return AccessAnswer(True)
    missing: list[MissingRole] = []
    for bound in _bound_roles(storage, user, wanted.namespace):
        if bound.role is None:
            missing.append(bound.missing)
        elif any(allows(rule, wanted) for rule in _rules(bound.role)):
            return AccessAnswer(True, bound.reason)
    text = not_found_text(map(str, missing))
    return AccessAnswer(False, f"RBAC: {text}" if text else "")


@dataclass(frozen=True)
class MissingRole:
    """A role that a binding refers to and that does not exist."""

    #: Its kind.
    kind: str
    #: Its name.
    name: str

    def __str__(self) -> str:
        return f'{self.kind.lower()}.{GROUP} "{self.name}"'


def not_found_text(names: Iterable[str]) -> str:
    """Return the error about objects that do not exist; each is named once, empty without any."""
    texts = [f"{each} not found" for each in dict.fromkeys(names)]
    return f"[{', '.join(texts)}]" if len(texts) > 1 else "".join(texts)


def missing_roles(storage: ObjectStorage, user: User, namespace: str) -> list[MissingRole]:
    """Return the roles that bindings of a user in a namespace refer to and that do not exist."""
    bound = _bound_roles(storage, user, namespace)
    return [each.missing for each in bound if each.role is None]


def user_rules(storage: ObjectStorage, user: User, namespace: str) -> Iterator[Json]:
    """Yield the rules of a user in a namespace."""
    for bound in _bound_roles(storage, user, namespace):
        yield from _rules(bound.role)


@dataclass(frozen=True)
class _BoundRole:
    """A role that a binding gives to a user."""

    #: The binding.
    binding: Json
    #: Kind of the binding.
    word: str
    #: The subject of the binding that the user is.
    subject: Json
    #: The role; ``None`` if it does not exist.
    role: StoredItem | None

    @property
    def missing(self) -> MissingRole:
        """Kind and name of the role, if it does not exist."""
        ref = self.binding.get("roleRef") or {}
        return MissingRole(str(ref.get("kind")), str(ref.get("name")))

    @property
    def reason(self) -> str:
        """Why the role gives a right."""
        metadata, ref = self.binding["metadata"], self.binding.get("roleRef") or {}
        namespace = metadata.get("namespace", "")
        name = f"{metadata['name']}/{namespace}" if namespace else metadata["name"]
        return (
            f'RBAC: allowed by {self.word} "{name}" of {ref.get("kind")} "{ref.get("name")}" to '
            f"{_subject_text(self.subject, namespace)}"
        )


def _bound_roles(storage: ObjectStorage, user: User, namespace: str) -> Iterator[_BoundRole]:
    """Yield the roles of a user in a namespace, those that do not exist too."""
    for binding, word in _bindings(storage, namespace):
        subject = _subject(binding, user)
        if subject is not None:
            space, ref = binding["metadata"].get("namespace", ""), binding.get("roleRef") or {}
            yield _BoundRole(binding, word, subject, _role(storage, ref, space))


def _bindings(storage: ObjectStorage, namespace: str) -> Iterator[tuple[Json, str]]:
    """Yield the bindings that count in a namespace, each with its kind."""
    for binding in storage.views_of(CLUSTER_ROLE_BINDING):
        yield binding, "ClusterRoleBinding"
    if namespace:
        for binding in storage.views_of(ROLE_BINDING, namespace):
            yield binding, "RoleBinding"


def _subject(binding: Json, user: User) -> Json | None:
    """Return the subject of a binding that a user is; ``None`` for none."""
    namespace = binding["metadata"].get("namespace", "")
    found = (each for each in binding.get("subjects") or () if _is_subject(each, user, namespace))
    return next(found, None)


def role_rules(storage: ObjectStorage, ref: Json, namespace: str) -> list[Json] | None:
    """Return the rules of a role; ``None`` if the role does not exist."""
    role = _role(storage, ref, namespace)
    return None if role is None else _rules(role)


def _rules(role: StoredItem | None) -> list[Json]:
    return [] if role is None else list(role.item.get("rules") or ())


def _role(storage: ObjectStorage, ref: Json, namespace: str) -> StoredItem | None:
    """Return the role that a binding in a namespace refers to; ``None`` if it does not exist."""
    is_cluster = ref.get("kind") == "ClusterRole"
    kind, space = (CLUSTER_ROLE, "") if is_cluster else (ROLE, namespace)
    return storage.find(kind, space, str(ref.get("name")))


def _is_subject(subject: Json, user: User, namespace: str) -> bool:
    kind, name = subject.get("kind"), subject.get("name", "")
    if kind == "User":
        return bool(name == user.name)
    if kind == "Group":
        return name in user.groups
    space = subject.get("namespace") or namespace
    return kind == "ServiceAccount" and user.name == account_name(space, name)


def _subject_text(subject: Json, namespace: str) -> str:
    kind, name = subject.get("kind"), subject.get("name", "")
    if kind == "ServiceAccount":
        return f'ServiceAccount "{name}/{subject.get("namespace") or namespace}"'
    return f'{kind} "{name}"'


def allows(rule: Json, wanted: AccessRequest) -> bool:
    """Return whether a rule grants an access."""
    if not _has(rule.get("verbs"), wanted.verb):
        return False
    if wanted.path:
        return any(_covers(each, wanted.path) for each in rule.get("nonResourceURLs") or ())
    if not _has(rule.get("apiGroups"), wanted.group):
        return False
    resources = rule.get("resources") or ()
    named = wanted.full_resource in resources or _ANY in resources
    if not named and not (wanted.subresource and f"*/{wanted.subresource}" in resources):
        return False
    names = rule.get("resourceNames")
    return not names or wanted.name in names


def _has(values: Any, wanted: str) -> bool:
    return wanted in (values or ()) or _ANY in (values or ())


def _covers(pattern: str, path: str) -> bool:
    if pattern in {_ANY, path}:
        return True
    return pattern.endswith("*") and path.startswith(pattern[:-1])
