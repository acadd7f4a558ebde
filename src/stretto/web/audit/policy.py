"""Audit policies (``audit.k8s.io/v1``): the level at which a request is recorded."""

from enum import StrEnum
from pathlib import Path
from typing import Final

import msgspec

from stretto.api.edit.yaml_text import load_documents
from stretto.base.errors import InputError
from stretto.inputs.neutral.strict import strict
from stretto.web.api.authn.users import User
from stretto.web.api.routes import Route

_VERSION: Final = "audit.k8s.io/v1"
_KIND: Final = "Policy"
_LARGEST: Final = 1 << 20
"""Maximum bytes of a policy file."""


class AuditLevel(StrEnum):
    """Level of detail of recorded requests."""

    #: Requests are not recorded.
    NONE = "None"
    #: User, verb, object and the status of the response are recorded.
    METADATA = "Metadata"
    #: The object of the request is recorded too.
    REQUEST = "Request"
    #: The object of the response is recorded too.
    REQUEST_RESPONSE = "RequestResponse"


class AuditStage(StrEnum):
    """Stage at which an event is recorded."""

    #: Before a request is processed.
    RECEIVED = "RequestReceived"
    #: At the start of a watch response.
    STARTED = "ResponseStarted"
    #: At the end of the response.
    COMPLETE = "ResponseComplete"
    #: After an internal error of the server.
    PANIC = "Panic"


class GroupResources(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Resources of one API group."""

    #: The group; empty for core.
    group: str = ""
    #: Names such as ``pods``, ``pods/log``, ``pods/*``, ``*/scale``; empty for all.
    resources: tuple[str, ...] = ()
    #: Names of objects; empty for all.
    resource_names: tuple[str, ...] = ()

    def matches(self, route: Route) -> bool:
        """Return whether the resources include the resource of a request."""
        if self.group != route.group:
            return False
        if not self.resources:
            return True
        if self.resource_names and route.name not in self.resource_names:
            return False
        sub = route.subresource
        names = {"*", f"{route.resource}/*", f"{route.resource}/{sub}" if sub else route.resource}
        return bool(names.intersection(self.resources)) or (
            bool(sub) and f"*/{sub}" in self.resources
        )


class AuditRule(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """One rule; an empty list matches everything."""

    #: Level of matching requests.
    level: AuditLevel
    #: Names of users.
    users: tuple[str, ...] = ()
    #: Groups of users, one of which must match.
    user_groups: tuple[str, ...] = ()
    #: Verbs as in RBAC.
    verbs: tuple[str, ...] = ()
    #: Resources.
    resources: tuple[GroupResources, ...] = ()
    #: Namespaces; the empty name stands for cluster-scoped objects.
    namespaces: tuple[str, ...] = ()
    #: Paths outside the API of resources; ``*`` at the end matches the rest.
    non_resource_urls: tuple[str, ...] = msgspec.field(default=(), name="nonResourceURLs")
    #: Stages without events.
    omit_stages: frozenset[AuditStage] = frozenset()
    #: True if managed fields are omitted; ``None``: as in the policy.
    omit_managed_fields: bool | None = None

    def matches(self, subject: "AuditSubject") -> bool:
        """Return whether a request matches the rule."""
        if self.users and subject.user.name not in self.users:
            return False
        if self.user_groups and not set(self.user_groups).intersection(subject.user.groups):
            return False
        if self.verbs and subject.verb not in self.verbs:
            return False
        if self.namespaces or self.resources:
            return self._matches_resource(subject.route)
        if self.non_resource_urls:
            return subject.route is None and any(
                _path_matches(each, subject.path) for each in self.non_resource_urls
            )
        return True

    def _matches_resource(self, route: Route | None) -> bool:
        if route is None or (self.namespaces and route.namespace not in self.namespaces):
            return False
        return not self.resources or any(each.matches(route) for each in self.resources)


class AuditSubject(msgspec.Struct, frozen=True):
    """The parts of a request that rules match."""

    #: The user.
    user: User
    #: Verb as in RBAC.
    verb: str
    #: Path.
    path: str
    #: Parts of the path; ``None`` outside the API of resources.
    route: Route | None = None


class AuditPolicy(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """The rules; the first rule that matches is used."""

    #: The rules.
    rules: tuple[AuditRule, ...] = ()
    #: Stages without events.
    omit_stages: frozenset[AuditStage] = frozenset()
    #: True if managed fields are omitted.
    omit_managed_fields: bool = False
    #: ``audit.k8s.io/v1``.
    api_version: str = ""
    #: ``Policy``.
    kind: str = ""
    #: Name and labels, which have no effect.
    metadata: dict[str, object] = {}

    def rule_of(self, subject: AuditSubject) -> AuditRule:
        """Return the rule of a request; if none matches, a rule that records nothing."""
        return next((each for each in self.rules if each.matches(subject)), _NO_RULE)


_NO_RULE: Final = AuditRule(AuditLevel.NONE)
METADATA_ONLY: Final = AuditPolicy((AuditRule(AuditLevel.METADATA),))
"""Default policy: metadata of every request."""


def _path_matches(pattern: str, path: str) -> bool:
    if pattern.endswith("*"):
        return path.startswith(pattern[:-1])
    return pattern == path


def read_policy(path: Path) -> AuditPolicy:
    """Read the policy in a file.

    Raises:
        InputError: the file cannot be read, or is not a policy.
    """
    try:
        text = path.read_bytes()
    except OSError as error:
        raise InputError(str(path), None, f"a readable file: {error.strerror}") from error
    if len(text) > _LARGEST:
        raise InputError(str(path), f"{len(text)} bytes", f"at most {_LARGEST}")
    documents = [each for _, each in load_documents(text, str(path))]
    if len(documents) != 1:
        raise InputError(str(path), f"{len(documents)} documents", "one audit policy")
    found = strict(AuditPolicy, documents[0], str(path))
    if (found.api_version, found.kind) != (_VERSION, _KIND):
        stated = f"{found.api_version or 'no apiVersion'}, Kind={found.kind}"
        raise InputError(str(path), stated, f"{_VERSION}, Kind={_KIND}")
    for index, rule in enumerate(found.rules):
        _check(rule, f"{path}: rules[{index}]")
    return found


def _check(rule: AuditRule, where: str) -> None:
    """Refuse a rule that cannot match anything.

    Raises:
        InputError: the rule contains resources and paths.
    """
    if rule.non_resource_urls and (rule.resources or rule.namespaces):
        expected = "neither resources nor namespaces in the same rule"
        raise InputError(f"{where}.nonResourceURLs", list(rule.non_resource_urls), expected)
    for index, url in enumerate(rule.non_resource_urls):
        if url != "*" and (not url.startswith("/") or "*" in url[:-1]):
            expected = "a path from /, with * at most at its end"
            raise InputError(f"{where}.nonResourceURLs[{index}]", url, expected)
