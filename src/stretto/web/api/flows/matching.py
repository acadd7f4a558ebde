"""Rules of FlowSchemas: the users and the requests that a schema matches, as in kube-apiserver.

They resemble the rules of RBAC (`authz.rules`), but a name of a subject may be ``*``, ``*`` stands
for all values only if it is alone in its list, and a URL contains all paths below it.
"""

from collections.abc import Sequence
from typing import Any, Final

from stretto.web.api.authn.users import User, account_name
from stretto.web.api.authz.rules import AccessRequest

Json = dict[str, Any]

_ANY: Final = "*"


def matches(spec: Json, user: User, wanted: AccessRequest) -> bool:
    """Return whether a FlowSchema matches a request.

    Args:
        spec: the spec of the schema.
        user: the user of the request, after impersonation.
        wanted: the access that the request needs.
    """
    return any(_is_ruled(each, user, wanted) for each in spec.get("rules") or ())


def _is_ruled(rule: Json, user: User, wanted: AccessRequest) -> bool:
    if not any(_is_subject(each, user) for each in rule.get("subjects") or ()):
        return False
    if wanted.resource:
        return any(_is_resource(each, wanted) for each in rule.get("resourceRules") or ())
    return any(_is_path(each, wanted) for each in rule.get("nonResourceRules") or ())


def _is_subject(subject: Json, user: User) -> bool:
    kind = subject.get("kind")
    if kind == "User":
        return (subject.get("user") or {}).get("name") in (_ANY, user.name)
    if kind == "Group":
        name = (subject.get("group") or {}).get("name")
        return name == _ANY or name in user.groups
    account = subject.get("serviceAccount")
    if kind != "ServiceAccount" or account is None:
        return False
    if account["name"] == _ANY:
        return user.name.startswith(account_name(account["namespace"], ""))
    return user.name == account_name(account["namespace"], account["name"])


def _is_resource(rule: Json, wanted: AccessRequest) -> bool:
    if not (
        _contains(rule.get("verbs"), wanted.verb)
        and _contains(rule.get("resources"), wanted.full_resource)
        and _contains(rule.get("apiGroups"), wanted.group)
    ):
        return False
    if not wanted.namespace:
        return bool(rule.get("clusterScope"))
    return _contains(rule.get("namespaces"), wanted.namespace)


def _is_path(rule: Json, wanted: AccessRequest) -> bool:
    urls = rule.get("nonResourceURLs") or ()
    return _contains(rule.get("verbs"), wanted.verb) and any(
        _contains_path(each, wanted.path) for each in urls
    )


def _contains_path(url: str, path: str) -> bool:
    """Return whether a path is a URL of a rule or below it; the URL may end with ``/*``."""
    prefix = url.removesuffix(_ANY)
    prefix = prefix if prefix.endswith("/") else f"{prefix}/"
    return url in (_ANY, path) or path.startswith(prefix)


def _contains(stated: Sequence[str] | None, value: str) -> bool:
    """Return whether a list has a value, or stands for all values."""
    return stated is not None and (value in stated or list(stated) == [_ANY])
