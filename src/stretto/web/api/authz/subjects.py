"""Reviews of access: what a user may do, by the roles or as a node."""

from typing import Any, Final

from stretto.api.wire.kinds import Kind
from stretto.web.api import failures
from stretto.web.api.authn.users import User
from stretto.web.api.authz.nodes import user_access
from stretto.web.api.authz.rules import AccessRequest
from stretto.web.api.call import Call
from stretto.web.api.failures import ApiError, bad_request
from stretto.web.api.state import ApiState

Json = dict[str, Any]

_NAMELESS: Final = Kind("authorization.k8s.io", "", "", "")
_OTHER_NAMESPACE: Final = (
    "the namespace of the provided object does not match the namespace sent on the request"
)


def own_access(state: ApiState, call: Call, item: Json) -> Json:
    """What the user of the request may do."""
    return _access(state, call.user, item.get("spec") or {})


def access_of_other(state: ApiState, _call: Call, item: Json) -> Json:
    """What another user may do."""
    return _access(state, _other(item), item.get("spec") or {})


def local_access(state: ApiState, call: Call, item: Json) -> Json:
    """What another user may do in the namespace of the request.

    Raises:
        ApiError: the review names another namespace.
    """
    if item["metadata"].get("namespace", call.route.namespace) != call.route.namespace:
        raise bad_request(_OTHER_NAMESPACE)
    spec = item.get("spec") or {}
    namespace = (spec.get("resourceAttributes") or {}).get("namespace", "")
    if namespace != call.route.namespace:
        text = f'Invalid value: "{namespace}": must match metadata.namespace'
        raise _invalid(text, "spec.resourceAttributes.namespace")
    item["metadata"].setdefault("namespace", call.route.namespace)
    return _access(state, _other(item), spec)


def _other(item: Json) -> User:
    spec = item.get("spec") or {}
    if not spec.get("user") and not spec.get("groups"):
        text = 'Invalid value: "": at least one of user or group must be specified'
        raise _invalid(text, "spec.user")
    return User(spec.get("user", ""), spec.get("uid", ""), tuple(spec.get("groups") or ()))


def _invalid(text: str, field: str) -> ApiError:
    return failures.invalid(_NAMELESS, "", [("FieldValueInvalid", text, field)])


def _access(state: ApiState, user: User, spec: Json) -> Json:
    attributes, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if attributes and path:
        shown = f'{{"Path":"{path.get("path", "")}","Verb":"{path.get("verb", "")}"}}'
        text = f"Invalid value: {shown}: cannot be specified in combination with resourceAttributes"
        raise _invalid(text, "spec.nonResourceAttributes")
    if not attributes and not path:
        text = (
            "Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must "
            "be specified"
        )
        raise _invalid(text, "spec.resourceAttributes")
    fields = _selected(attributes or {})
    found = user_access(state.storage, user, _wanted(attributes, path or {}), fields)
    answered: Json = {"allowed": found.allowed}
    return {**answered, "reason": found.reason} if found.reason else answered


def _selected(attributes: Json) -> dict[str, str]:
    """What the field selector of a review demands to be equal, by field."""
    requirements = (attributes.get("fieldSelector") or {}).get("requirements") or ()
    return {
        each.get("key", ""): each["values"][0]
        for each in requirements
        if each.get("operator") == "In" and len(each.get("values") or ()) == 1
    }


def _wanted(attributes: Json | None, path: Json) -> AccessRequest:
    if attributes is None:
        return AccessRequest(path.get("verb", ""), path=path.get("path", ""))
    names = ("verb", "group", "resource", "subresource", "namespace", "name")
    return AccessRequest(*(attributes.get(name, "") for name in names))
