"""Server-side apply over the API."""

from typing import Any, Final

from stretto.api.edit.apply.managers import (
    ManagerKey,
    OwnershipError,
    WriteFrame,
    conflict_text,
    decode_managers,
    encode_managers,
    managed_apply,
    managed_update,
)
from stretto.api.edit.apply.walking import ApplyError
from stretto.web.api import failures
from stretto.web.api.call import Call
from stretto.web.api.failures import ApiError, bad_request, internal
from stretto.web.api.message import ApiResponse
from stretto.web.api.objects.changes import shape
from stretto.web.api.objects.ownership import blank, reset_fields
from stretto.web.api.objects.reading import parse_body, read_object
from stretto.web.api.state import ApiState
from stretto.web.api.verbs.answers import answer
from stretto.web.api.verbs.update import check_name
from stretto.web.api.writes import change_object, default_object, store_new

Json = dict[str, Any]

APPLY: Final = "application/apply-patch+yaml"
_BEFORE: Final = "before-first-apply"


def apply(state: ApiState, call: Call) -> ApiResponse:
    """Apply a configuration: merge it into the object and take the ownership of its fields."""
    resource, route = call.resource, call.route
    config = read_config(call)
    old = state.storage.find(resource.stored, route.namespace, route.name)
    metadata = config.setdefault("metadata", {})
    if old is None:
        uid = metadata.get("uid")
        if uid:
            why = (
                f"uid mismatch: the provided object specified uid {uid}, and no existing object "
                "was found"
            )
            raise failures.conflict(resource.group, resource.resource, route.name, why)
        if route.subresource:
            raise failures.not_found(resource.group, resource.resource, route.name)
        return _create(state, call, config)
    item = applied(state, call, config, old.item)
    return answer(state, call, change_object(state, call, old, item))


def read_config(call: Call) -> Json:
    """The applied configuration.

    Raises:
        ApiError: it is malformed, or names another object.
    """
    value, _ = parse_body(call.request.body, APPLY, "")
    kind, route = call.resource.kind, call.route
    if not isinstance(value, dict):
        word = "array" if isinstance(value, list) else "string"
        raise bad_request(
            "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot "
            f"unmarshal {word} into Go value of type map[string]interface {{}}"
        )
    stated, version = value.get("kind", ""), value.get("apiVersion", "")
    if (stated, version) != (kind.kind, kind.api_version):
        shown = version if "/" in version else f"/{version}"
        raise bad_request(f"invalid object type: {shown}, Kind={stated}")
    metadata = value.setdefault("metadata", {})
    if metadata.get("managedFields") is not None:
        raise bad_request("metadata.managedFields must be nil")
    name = metadata.setdefault("name", route.name)
    if name != route.name:
        check_name(name, route.name)
    if kind.namespaced and metadata.get("namespace", route.namespace) != route.namespace:
        text = (
            "the namespace of the provided object does not match the namespace sent on the request"
        )
        raise bad_request(text)
    return value


def applied(state: ApiState, call: Call, config: Json, old: Json) -> Json:
    """A stored object with an applied configuration, with its new managers.

    Raises:
        ApiError: the configuration does not fit, or it conflicts with other managers.
    """
    live = shape(call, old)
    managers = decode_managers(live["metadata"].get("managedFields"))
    frame = _frame(state, call)
    if not managers:
        key = ManagerKey(_BEFORE, "Update", call.resource.kind.api_version)
        start = WriteFrame(frame.struct, key, frame.now, frame.reset)
        managers = managed_update(blank(call), live, {}, start)
    try:
        merged, after = managed_apply(live, config, managers, frame, force=bool(call.options.force))
    except ApplyError as error:
        raise _untyped(call, config, error) from error
    except OwnershipError as error:
        text, causes = conflict_text(error)
        raise ApiError(409, "Conflict", text, {"causes": causes}) from error
    item = _read(call, merged)
    item["metadata"]["managedFields"] = encode_managers(after)
    return default_object(call, item)


def _create(state: ApiState, call: Call, config: Json) -> ApiResponse:
    frame = _frame(state, call)
    try:
        merged, after = managed_apply(blank(call), config, {}, frame, force=False)
    except ApplyError as error:
        raise _untyped(call, config, error) from error
    item = _read(call, merged)
    item["metadata"]["managedFields"] = encode_managers(after)
    if call.resource.kind.namespaced:
        item["metadata"]["namespace"] = call.route.namespace
    created = store_new(state, call, default_object(call, item))
    return answer(state, call, created, 201)


def _read(call: Call, merged: Json) -> Json:
    """A merged object as its kind holds it."""
    item, warnings = read_object(merged, [], call.resource, call.options.validation)
    call.warnings += warnings
    return item


def _frame(state: ApiState, call: Call) -> WriteFrame:
    resource = call.resource
    key = ManagerKey(call.manager, "Apply", resource.kind.api_version, call.route.subresource)
    return WriteFrame(resource.struct, key, state.now, reset_fields(call))


def _untyped(call: Call, config: Json, error: ApplyError) -> ApiError:
    kind = call.resource.kind
    metadata = config.get("metadata") or {}
    place = f"{metadata.get('namespace', '')}/{metadata.get('name', '')}"
    version = kind.api_version if kind.group else f"/{kind.version}"
    text = f"failed to create typed patch object ({place}; {version}, Kind={kind.kind}): "
    return internal(text + str(error))
