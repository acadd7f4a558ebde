"""Authorization of requests: the access that a request needs, and its refusal."""

from typing import Any

from stretto.web.api.authn.users import User
from stretto.web.api.authz.nodes import user_access
from stretto.web.api.authz.rules import AccessRequest, access_of
from stretto.web.api.failures import ApiError, DeniedError, details_of, qualified
from stretto.web.api.message import ApiRequest
from stretto.web.api.routes import Route
from stretto.web.api.storage import ObjectStorage


def authorize(
    storage: ObjectStorage, user: User, request: ApiRequest, wanted: AccessRequest
) -> None:
    """Refuse a request if its user lacks a right.

    Args:
        storage: the roles.
        user: the user.
        request: the request.
        wanted: the access that it needs.

    Raises:
        ApiError: the user lacks the right.
    """
    if wanted.resource:
        found = user_access(storage, user, wanted, _selected_fields(request))
    else:
        found = access_of(storage, user, wanted)
    request.notes.authorize(found.reason, allowed=found.allowed)
    if not found.allowed:
        raise denied(user, wanted, found.reason)


def wanted_access(request: ApiRequest, route: Route | None, verb: str) -> AccessRequest:
    """Return the access that a request needs."""
    if route is None or not route.resource:
        return AccessRequest(request.method.lower(), path=request.path)
    return access_request(route, verb, _selected_fields(request).get("metadata.name", ""))


def _selected_fields(request: ApiRequest) -> dict[str, str]:
    """The values that a field selector requires, by field."""
    found: dict[str, str] = {}
    text = request.parameter("fieldSelector")
    for part in text.split(",") if text else ():
        key, equals, value = part.partition("=")
        if equals and not key.endswith("!"):
            found[key] = value.removeprefix("=")
    return found


def access_request(route: Route, verb: str, field_name: str = "") -> AccessRequest:
    """The access that a request needs."""
    namespace = route.namespace
    if route.resource == "namespaces" and not route.group and route.name:
        namespace = route.name
    name = route.name or (field_name if verb in ("list", "watch", "deletecollection") else "")
    return AccessRequest(verb, route.group, route.resource, route.subresource, namespace, name)


def denied(user: User, wanted: AccessRequest, reason: str = "") -> ApiError:
    """Return a 403 in the words of kube-apiserver, with the reason of an authorizer."""
    if wanted.path:
        text = f'forbidden: User "{user.name}" cannot {wanted.verb} path "{wanted.path}"'
        return DeniedError(403, "Forbidden", f"{text}: {reason}" if reason else text, {})
    scope = f'in the namespace "{wanted.namespace}"' if wanted.namespace else "at the cluster scope"
    what = qualified(wanted.group, wanted.resource)
    if wanted.name:
        what = f'{what} "{wanted.name}"'
    text = (
        f'{what} is forbidden: User "{user.name}" cannot {wanted.verb} resource '
        f'"{wanted.full_resource}" in API group "{wanted.group}" {scope}'
    )
    if reason:
        text = f"{text}: {reason}"
    details: dict[str, Any] = details_of(wanted.group, wanted.resource, wanted.name)
    return DeniedError(403, "Forbidden", text, details)
