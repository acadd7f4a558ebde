"""Refusal of roles and bindings that grant more rights than their author has."""

from collections.abc import Iterator
from itertools import chain, product
from typing import Any, Final

from msgspec.structs import replace

from stretto.api.checks.fields.errors import quoted
from stretto.web.api.authn.users import MASTERS, User
from stretto.web.api.authz.rules import (
    GROUP,
    AccessRequest,
    access_of,
    allows,
    missing_roles,
    not_found_text,
    role_rules,
    user_rules,
)
from stretto.web.api.call import Call
from stretto.web.api.failures import ApiError, bad_request, forbidden, internal, not_found
from stretto.web.api.objects.naming import sent_value
from stretto.web.api.state import AdmittedWrite, ApiState

Json = dict[str, Any]

_BINDINGS: Final = ("RoleBinding", "ClusterRoleBinding")
_ROLES: Final = ("Role", "ClusterRole")
_PLURALS: Final = {"Role": "roles", "ClusterRole": "clusterroles"}
"""Resources of the kinds that a binding refers to."""
_OWNERS: Final = ("ownerReferences", "finalizers", "managedFields")
"""Metadata that the garbage collection changes."""
_SUBJECTS: Final = ("apiGroups", "resources", "resourceNames")
"""Fields of a rule that select what its verbs apply to."""
_ALL: Final[list[Json]] = [
    {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},
    {"nonResourceURLs": ["*"], "verbs": ["*"]},
]
"""All rights."""


def no_escalation(state: ApiState, admission: AdmittedWrite) -> None:
    """Refuse a role or a binding with rights that its author does not have."""
    call, item = admission.call, admission.item
    kind = admission.resource.kind
    if kind.group != GROUP or item is None or MASTERS in call.user.groups:
        return
    if kind.kind in _ROLES:
        if not _may(state, call, AccessRequest("escalate", GROUP, kind.plural)):
            _check_role(state, admission, item)
    elif kind.kind in _BINDINGS and not _is_collected(admission, item):
        _check_binding(state, admission, item)


def _may(state: ApiState, call: Call, wanted: AccessRequest) -> bool:
    """Return whether the author has a right on the object of the request."""
    named = replace(wanted, namespace=call.route.namespace, name=wanted.name or call.route.name)
    return access_of(state.storage, call.user, named).allowed


def _is_collected(admission: AdmittedWrite, item: Json) -> bool:
    """Return whether a change is limited to the fields that the garbage collection changes.

    A replacement that states no version differs from the stored object.
    """
    call, old = admission.call, admission.old
    if old is None or (call.verb == "update" and "resourceVersion" not in _sent_metadata(call)):
        return False
    return _without_owners(item) == _without_owners(old)


def _sent_metadata(call: Call) -> Json:
    sent = sent_value(call)
    return (sent.get("metadata") or {}) if isinstance(sent, dict) else {}


def _without_owners(item: Json) -> Json:
    kept = {name: each for name, each in item["metadata"].items() if name not in _OWNERS}
    return {**item, "metadata": kept}


def _check_role(state: ApiState, admission: AdmittedWrite, item: Json) -> None:
    if _is_collected(admission, item):
        return
    _confirm(state, admission, item.get("rules") or [])
    if any(map(_aggregates, (item, admission.old or {}))) and _missing(state, admission.call, _ALL):
        why = "must have cluster-admin privileges to use the aggregationRule"
        raise _refusal(admission, item, why)


def _aggregates(item: Json) -> bool:
    return bool((item.get("aggregationRule") or {}).get("clusterRoleSelectors"))


def _check_binding(state: ApiState, admission: AdmittedWrite, item: Json) -> None:
    ref = item.get("roleRef") or {}
    kind, name = str(ref.get("kind") or ""), str(ref.get("name") or "")
    plural = _PLURALS.get(kind)
    if plural is None:
        raise internal(f"unsupported role reference kind: {quoted(kind)}")
    group = str(ref.get("apiGroup") or "")
    namespace = admission.call.route.namespace
    wanted = AccessRequest("bind", group, plural, "", namespace, name)
    if access_of(state.storage, admission.call.user, wanted).allowed:
        return
    if kind == "Role" and not namespace:
        raise bad_request("Namespace parameter required.")
    if not name:
        raise bad_request("Name parameter required.")
    rules = role_rules(state.storage, ref, namespace)
    if rules is None:
        raise not_found(GROUP, admission.resource.kind.plural, name)
    _confirm(state, admission, rules)


def _confirm(state: ApiState, admission: AdmittedWrite, rules: list[Json]) -> None:
    """Refuse rules that the author does not have."""
    call = admission.call
    missing = _missing(state, call, rules)
    if not missing:
        return
    text = "\n".join(sorted(set(map(_text, _compacted(missing)))))
    why = f"{_name(call.user)} is attempting to grant RBAC permissions not currently held:\n{text}"
    lost = missing_roles(state.storage, call.user, call.route.namespace)
    names = [f"{admission.resource.kind.plural}.{GROUP} {quoted(each.name)}" for each in lost]
    if names:
        why += f"; resolution errors: [{not_found_text(names)}]"
    raise _refusal(admission, admission.item or {}, why)


def _refusal(admission: AdmittedWrite, item: Json, why: str) -> ApiError:
    return forbidden(GROUP, admission.resource.kind.plural, item["metadata"].get("name", ""), why)


def _missing(state: ApiState, call: Call, rules: list[Json]) -> list[Json]:
    """Return the single rights of rules that the author does not have."""
    held = list(user_rules(state.storage, call.user, call.route.namespace))
    parts = chain.from_iterable(map(_parts, rules))
    return [rule for rule, wanted in parts if not _is_held(wanted, held)]


def _compacted(rules: list[Json]) -> Iterator[Json]:
    """Yield rules; those that differ only in their verbs are one."""
    found: dict[tuple[Any, ...], Json] = {}
    for rule in rules:
        if rule.get("nonResourceURLs"):
            yield rule
            continue
        key = tuple(tuple(rule.get(name, ())) for name in _SUBJECTS)
        verbs = found[key]["verbs"] if key in found else []
        found[key] = {**rule, "verbs": [*verbs, *rule["verbs"]]}
    yield from found.values()


def _name(user: User) -> str:
    groups = " ".join(map(quoted, user.groups))
    return f"user {quoted(user.name)} (groups=[{groups}])"


def _parts(rule: Json) -> Iterator[tuple[Json, AccessRequest]]:
    """Yield the single rights of a rule, each as a rule and as a request."""
    verbs = rule.get("verbs") or ()
    names = rule.get("resourceNames") or ()
    subjects = product(rule.get("apiGroups") or (), rule.get("resources") or (), verbs)
    for group, resource, verb in subjects:
        plural, _, sub = resource.partition("/")
        part = {"apiGroups": [group], "resources": [resource], "verbs": [verb]}
        for name in names:
            named = {**part, "resourceNames": [name]}
            yield named, AccessRequest(verb, group, plural, sub, "", name)
        if not names:
            yield part, AccessRequest(verb, group, plural, sub)
    for path, verb in product(rule.get("nonResourceURLs") or (), verbs):
        yield {"nonResourceURLs": [path], "verbs": [verb]}, AccessRequest(verb, path=path)


def _is_held(wanted: AccessRequest, held: list[Json]) -> bool:
    return any(allows(rule, wanted) for rule in held)


def _text(rule: Json) -> str:
    words = (
        ("APIGroups", "apiGroups"),
        ("Resources", "resources"),
        ("NonResourceURLs", "nonResourceURLs"),
        ("ResourceNames", "resourceNames"),
        ("Verbs", "verbs"),
    )
    parts = [
        f"{word}:[{' '.join(map(quoted, rule[name]))}]" for word, name in words if rule.get(name)
    ]
    return f"{{{', '.join(parts)}}}"
