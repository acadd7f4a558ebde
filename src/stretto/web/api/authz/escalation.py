"""Refusal of roles and bindings that grant more rights than their author has."""

from collections.abc import Iterator
from typing import Any, Final

from stretto.web.api.authn.users import MASTERS, User
from stretto.web.api.authz.rules import (
    GROUP,
    AccessRequest,
    access_of,
    allows,
    role_rules,
    user_rules,
)
from stretto.web.api.failures import forbidden
from stretto.web.api.state import AdmittedWrite, ApiState

Json = dict[str, Any]

_BINDINGS: Final = ("RoleBinding", "ClusterRoleBinding")
_ROLES: Final = ("Role", "ClusterRole")


def no_escalation(state: ApiState, admission: AdmittedWrite) -> None:
    """Refuse a role or a binding with rights that its author does not have."""
    call, item = admission.call, admission.item
    kind = admission.resource.kind
    if kind.group != GROUP or item is None or MASTERS in call.user.groups:
        return
    namespace = call.route.namespace
    if kind.kind in _BINDINGS:
        ref = item.get("roleRef") or {}
        rules = role_rules(state.storage, ref, namespace)
        plural = "clusterroles" if ref.get("kind") == "ClusterRole" else "roles"
        verb, name = "bind", str(ref.get("name"))
    elif kind.kind in _ROLES:
        rules, plural = item.get("rules") or [], kind.plural
        verb, name = "escalate", item["metadata"].get("name", "")
    else:
        return
    wanted = AccessRequest(verb, GROUP, plural, "", namespace, name)
    if access_of(state.storage, call.user, wanted).allowed:
        return
    held = list(user_rules(state.storage, call.user, namespace))
    missing = [rule for rule in rules if not all(_is_held(each, held) for each in _parts(rule))]
    if missing:
        text = "\n".join(map(_text, missing))
        why = f"{_name(call.user)} is attempting to grant RBAC permissions not currently held:\n"
        raise forbidden(GROUP, kind.plural, item["metadata"].get("name", ""), why + text)


def _name(user: User) -> str:
    groups = " ".join(f'"{each}"' for each in user.groups)
    return f'user "{user.name}" (groups=[{groups}])'


def _parts(rule: Json) -> Iterator[AccessRequest]:
    """Yield the single rights of a rule."""
    for verb in rule.get("verbs") or ():
        for path in rule.get("nonResourceURLs") or ():
            yield AccessRequest(verb, path=path)
        for group in rule.get("apiGroups") or ():
            for resource in rule.get("resources") or ():
                plural, _, sub = resource.partition("/")
                for name in rule.get("resourceNames") or ("",):
                    yield AccessRequest(verb, group, plural, sub, "", name)


def _is_held(wanted: AccessRequest, held: list[Json]) -> bool:
    return any(allows(rule, wanted) for rule in held)


def _text(rule: Json) -> str:
    words = (
        ("APIGroups", "apiGroups"),
        ("Resources", "resources"),
        ("ResourceNames", "resourceNames"),
        ("NonResourceURLs", "nonResourceURLs"),
        ("Verbs", "verbs"),
    )
    parts = [
        f"{word}:[{' '.join(f'{chr(34)}{each}{chr(34)}' for each in rule[name])}]"
        for word, name in words
        if rule.get(name)
    ]
    return f"{{{', '.join(parts)}}}"
