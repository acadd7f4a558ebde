"""Server-side apply over the API."""

from typing import Any

from stretto.api.edit.apply.managers import Managers, encode_managers
from stretto.web.api import failures
from stretto.web.api.call import Call
from stretto.web.api.message import ApiResponse
from stretto.web.api.objects.changes import served, shape, stated_version
from stretto.web.api.objects.naming import default_object, named
from stretto.web.api.objects.ownership import blank, settle, write_frame
from stretto.web.api.objects.reading import read_object
from stretto.web.api.patching.configurations import (
    AppliedConfig,
    heed_repeated,
    merged,
    read_config,
)
from stretto.web.api.state import ApiState
from stretto.web.api.verbs.answers import answer
from stretto.web.api.writes import change_object, store_new

Json = dict[str, Any]


def apply(state: ApiState, call: Call) -> ApiResponse:
    """Apply a configuration: merge it into the object and take over the ownership of its fields."""
    resource, route = call.resource, call.route
    config = read_config(call, resource.kind)
    old = state.storage.served(resource, route.namespace, route.name)
    if old is None:
        if route.subresource:
            raise failures.not_found(resource.group, resource.resource, route.name)
        return _create(state, call, config)
    before = served(call, old)
    live = shape(call, old.item) if before is old else before.item
    item = applied(state, call, config, live)
    return answer(state, call, change_object(state, call, before, item))


def applied(state: ApiState, call: Call, config: AppliedConfig, live: Json) -> Json:
    """Return an object with an applied configuration, with its new managers.

    The object has the served version, and the fields that Go encodes.

    Raises:
        ApiError: the configuration does not match the schema, or conflicts with other managers.
    """
    frame = write_frame(state, call, "Apply")
    item, managers = merged(call, config, (blank(call), live), frame)
    return _read(call, config, item, managers)


def _create(state: ApiState, call: Call, config: AppliedConfig) -> ApiResponse:
    empty = blank(call)
    item, managers = merged(call, config, (empty, empty), write_frame(state, call, "Apply"))
    _check_new(call, config)
    created = store_new(state, call, _read(call, config, item, managers))
    return answer(state, call, created, 201)


def _check_new(call: Call, config: AppliedConfig) -> None:
    """Refuse the uid of an object that does not exist, or a version that is no number."""
    uid = config.metadata.get("uid")
    if uid:
        why = f"uid mismatch: the provided object specified uid {uid}, and no existing object"
        resource, name = call.resource, call.route.name
        raise failures.conflict(resource.group, resource.resource, name, f"{why} was found")
    stated_version({"metadata": config.metadata})


def _read(call: Call, config: AppliedConfig, merged: Json, managers: Managers) -> Json:
    """Return a merged object as decoded by its kind, with its name, defaults and managers."""
    call.sent = merged
    item, warnings = read_object(
        merged, [], call.resource, call.options.validation, is_applied=True
    )
    call.warnings += warnings
    heed_repeated(call, config)
    metadata = named(call, item)["metadata"]
    metadata.pop("managedFields", None)
    entries = encode_managers(managers)
    if entries:
        metadata["managedFields"] = entries
    default_object(call, item)
    settle(call, item)
    return item
