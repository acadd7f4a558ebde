"""Access reviews: the rights of a user, by roles or as a node."""

from typing import Any, Final

import msgspec

from stretto.api.wire.kinds import Kind
from stretto.web.api import failures
from stretto.web.api.authn.users import User
from stretto.web.api.authz.nodes import user_access
from stretto.web.api.authz.rules import AccessRequest
from stretto.web.api.authz.selectors import evaluation_error, required_fields, selector_errors
from stretto.web.api.call import Call
from stretto.web.api.state import ApiState

Json = dict[str, Any]

_NAMELESS: Final = Kind("authorization.k8s.io", "", "", "")
_FIRST: Final = ("name", "generateName", "namespace")
"""The first fields of metadata, in their order."""


def own_access(state: ApiState, call: Call, item: Json) -> Json:
    """Review the access of the user of the request."""
    spec = item.get("spec") or {}
    causes = _spec_causes(spec) + _selector_causes(spec)
    _refuse(causes + _metadata_causes(item["metadata"], "must be empty"))
    return _access(state, call.user, spec)


def access_of_other(state: ApiState, _call: Call, item: Json) -> Json:
    """Review the access of another user."""
    spec = item.get("spec") or {}
    causes = _spec_causes(spec) + _user_causes(spec) + _selector_causes(spec)
    _refuse(causes + _metadata_causes(item["metadata"], "must be empty"))
    return _access(state, _other(item), spec)


def local_access(state: ApiState, call: Call, item: Json) -> Json:
    """Review the access of another user in the namespace of the request.

    Raises:
        ApiError: the review contains another namespace.
    """
    if item["metadata"].get("namespace", call.route.namespace) != call.route.namespace:
        raise failures.other_namespace()
    spec = item.get("spec") or {}
    item["metadata"].setdefault("namespace", call.route.namespace)
    causes = _spec_causes(spec) + _user_causes(spec) + _selector_causes(spec)
    causes += _metadata_causes(item["metadata"], "must be empty except for namespace")
    attributes = spec.get("resourceAttributes")
    if attributes is not None and attributes.get("namespace", "") != call.route.namespace:
        text = f'Invalid value: "{attributes.get("namespace", "")}": must match metadata.namespace'
        causes.append((_INVALID, text, "spec.resourceAttributes.namespace"))
    path = spec.get("nonResourceAttributes")
    if path is not None:
        text = f"Invalid value: {_shown_path(path)}: disallowed on this kind of request"
        causes.append((_INVALID, text, "spec.nonResourceAttributes"))
    _refuse(causes)
    return _access(state, _other(item), spec)


def _other(item: Json) -> User:
    spec = item.get("spec") or {}
    return User(spec.get("user", ""), spec.get("uid", ""), tuple(spec.get("groups") or ()))


_INVALID: Final = "FieldValueInvalid"
_Causes = list[tuple[str, str, str]]
"""Refused fields: reason, text and path."""


def _refuse(causes: _Causes) -> None:
    """Refuse a review with refused fields.

    Raises:
        ApiError: there are refused fields.
    """
    if causes:
        raise failures.invalid(_NAMELESS, "", causes)


def _spec_causes(spec: Json) -> _Causes:
    attributes, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if attributes is not None and path is not None:
        text = "cannot be specified in combination with resourceAttributes"
        shown = f"Invalid value: {_shown_path(path)}: {text}"
        return [(_INVALID, shown, "spec.nonResourceAttributes")]
    if attributes is None and path is None:
        text = (
            "Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must "
            "be specified"
        )
        return [(_INVALID, text, "spec.resourceAttributes")]
    return []


def _selector_causes(spec: Json) -> _Causes:
    errors = selector_errors(spec.get("resourceAttributes") or {})
    return [(each.reason, each.message, each.field) for each in errors]


def _user_causes(spec: Json) -> _Causes:
    if spec.get("user") or spec.get("groups"):
        return []
    text = 'Invalid value: "": at least one of user or group must be specified'
    return [(_INVALID, text, "spec.user")]


def _metadata_causes(metadata: Json, rule: str) -> _Causes:
    """Return the refusal of metadata that only the server may set."""
    allowed = (
        "managedFields",
        "creationTimestamp",
        *(("namespace",) if "namespace" in rule else ()),
    )
    if not set(metadata) - set(allowed):
        return []
    first = {name: metadata[name] for name in _FIRST if name in metadata}
    shown = msgspec.json.encode({**first, **metadata, **_managed(metadata)}).decode()
    return [(_INVALID, f"Invalid value: {shown}: {rule}", "metadata")]


def _managed(metadata: Json) -> Json:
    """Return the managed fields of metadata with sorted sets of fields."""
    stated = metadata.get("managedFields")
    if not stated:
        return {}
    sets = [msgspec.Raw(msgspec.json.encode(each["fieldsV1"], order="sorted")) for each in stated]
    return {
        "managedFields": [
            {**each, "fieldsV1": fields} for each, fields in zip(stated, sets, strict=True)
        ]
    }


def _shown_path(path: Json) -> str:
    """Format the attributes of a path as in messages."""
    return f'{{"Path":"{path.get("path", "")}","Verb":"{path.get("verb", "")}"}}'


def _access(state: ApiState, user: User, spec: Json) -> Json:
    attributes, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    fields = required_fields(attributes or {})
    found = user_access(state.storage, user, _wanted(attributes, path or {}), fields)
    answered: Json = {"allowed": found.allowed}
    more = {"reason": found.reason, "evaluationError": evaluation_error(attributes or {})}
    return answered | {name: text for name, text in more.items() if text}


def _wanted(attributes: Json | None, path: Json) -> AccessRequest:
    if attributes is None:
        return AccessRequest(path.get("verb", ""), path=path.get("path", ""))
    names = ("verb", "group", "resource", "subresource", "namespace", "name")
    return AccessRequest(*(attributes.get(name, "") for name in names))
