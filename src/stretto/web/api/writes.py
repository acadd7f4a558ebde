"""Path of an object to the store: defaults, field managers, admission, checks."""

from typing import Any, Final

import msgspec

from stretto.api.checks.fields.errors import Errors, shown_empty, stated_errors
from stretto.api.checks.kinds.metadata import check_metadata_update, check_new_metadata
from stretto.web.api import failures
from stretto.web.api.call import Call
from stretto.web.api.objects.changes import (
    canonical,
    check_change,
    is_canonical,
    is_outdated,
    is_same,
    merge_owners,
    restore,
    served,
    shape,
)
from stretto.web.api.objects.checks import kind_errors
from stretto.web.api.objects.naming import sent_value
from stretto.web.api.objects.ownership import own, own_new
from stretto.web.api.objects.preparation import prepare_changed, prepare_new
from stretto.web.api.objects.strategies import (
    count_generation,
    keep_status,
    reset_status,
    strategy_of,
)
from stretto.web.api.state import AdmittedWrite, ApiState
from stretto.web.api.storage import StoredItem

Json = dict[str, Any]

_MAX_PREFIX: Final = 58
_ASSIGNED: Final = frozenset(
    {
        "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink",
        "resourceVersion",
    }
)  # fmt: skip
"""Metadata that the server assigns to a new object."""


def create_object(state: ApiState, call: Call, item: Json) -> Json:
    """Store a new object that is decoded and has its defaults; return it as stored.

    Raises:
        ApiError: the write is refused.
    """
    _drop_assigned(item["metadata"])
    own_new(state, call, item)
    return store_new(state, call, item)


def store_new(state: ApiState, call: Call, item: Json) -> Json:
    """Store a new object whose field managers are set.

    Raises:
        ApiError: the write is refused.
    """
    resource, strategy = call.resource, strategy_of(call.resource)
    _drop_assigned(item["metadata"])
    merge_owners(call, item["metadata"])
    admission = AdmittedWrite(call, "CREATE", item, None)
    state.change(admission)
    metadata = item["metadata"]
    if resource.has_status and not strategy.keeps_status:
        reset_status(item, resource)
    if strategy.counts:
        metadata["generation"] = 1
    if not metadata.get("name") and metadata.get("generateName"):
        prefix = metadata["generateName"]
        draw = call.request.memory.draw
        metadata["name"] = draw(f"name {prefix}", lambda: _generated(state, prefix))
    prepare_new(state, call, item)
    errors = check_new_metadata(
        _built_in(call),
        metadata,
        strategy.name_rule,
        namespaced=resource.kind.namespaced,
        checks_prefix=strategy.checks_prefix,
    )
    refuse(call, item, errors + kind_errors(state, call, item, None))
    for admit in state.validating:
        admit(state, admission)
    if call.options.dry_run:
        if state.storage.find(resource.stored, _space(call), metadata["name"]) is not None:
            raise failures.already_exists(resource.group, resource.resource, metadata["name"])
        return _dry(state, call, item)
    item = _with_next_uid(state, item)
    stored = state.storage.create(resource, canonical(call, item))
    written = AdmittedWrite(call, "CREATE", stored.item, None)
    for after in state.after_write:
        after(state, written)
    if not is_canonical(resource):
        return shape(call, stored.item)
    state.views.keep_new(stored.record, resource.kind, stored.item)
    return stored.item


def _with_next_uid(state: ApiState, item: Json) -> Json:
    """Return a new object that states the uid that it will get.

    The selector of a Job contains the uid that was next before admission wrote to quotas.
    """
    stated, uid = item["metadata"].get("uid"), state.storage.next_uid()
    if not stated or stated == uid:
        return item
    text = msgspec.json.encode(item).replace(stated.encode(), uid.encode())
    found: Json = msgspec.json.decode(text)
    return found


def update_object(state: ApiState, call: Call, old: StoredItem, item: Json) -> Json:
    """Store a changed object; return it as stored.

    Raises:
        ApiError: the write is refused.
    """
    old = served(call, old)
    own(state, call, old.item, item)
    return change_object(state, call, old, item)


def change_object(state: ApiState, call: Call, old: StoredItem, item: Json) -> Json:
    """Store a changed object whose field managers are set.

    The old object has the version of the call.

    Raises:
        ApiError: the write is refused.
    """
    resource = call.resource
    strategy = strategy_of(resource)
    check_change(call, item, old, needs_version=strategy.needs_version)
    restore(item, old.item)
    merge_owners(call, item["metadata"])
    admission = AdmittedWrite(call, "UPDATE", item, old.item)
    state.change(admission)
    if resource.has_status:
        keep_status(item, old.item)
    prepared_change(state, call, item, old.item)
    return store_changed(state, admission, old)


def prepared_change(state: ApiState, call: Call, item: Json, old: Json) -> None:
    """Set the fields of a changed object that the server determines, and its generation."""
    prepare_changed(state, call, item, old)
    count_generation(item, old, strategy_of(call.resource), call.resource)


def store_changed(state: ApiState, admission: AdmittedWrite, old: StoredItem) -> Json:
    """Check and store a complete object.

    Raises:
        ApiError: the write is refused.
    """
    call, item = admission.call, admission.item or {}
    part = call.route.subresource
    strategy = strategy_of(call.resource)
    rule = strategy.name_rule if strategy.checks_prefix else None
    metadata = item["metadata"], old.item["metadata"]
    errors = check_metadata_update(_built_in(call), *metadata, rule, part)
    errors += kind_errors(state, call, item, old.item)
    refuse(call, item, errors)
    for admit in state.validating:
        admit(state, admission)
    if is_same(item, old.item) and not is_outdated(call.resource, old.record):
        return shape(call, old.item) if is_canonical(call.resource) else old.item
    if call.options.dry_run:
        return _as_stored(call, item)
    is_end = bool(old.record.deleting) and not is_held(item)
    if is_end:
        state.storage.remove(call.resource, old.record)
        stored = StoredItem(item, old.record)
    else:
        stored = state.storage.replace(call.resource, old.record, canonical(call, item))
    written = AdmittedWrite(call, "UPDATE", stored.item, old.item)
    for after in state.after_write:
        after(state, written)
    is_shown = is_canonical(call.resource) and not is_end
    return stored.item if is_shown else shape(call, stored.item)


def is_held(item: Json) -> bool:
    """Return whether finalizers or a grace period delay the end of an object being deleted."""
    metadata = item["metadata"]
    spec = item.get("spec")
    own = isinstance(spec, dict) and item.get("kind") == "Namespace" and spec.get("finalizers")
    return bool(metadata.get("finalizers") or metadata.get("deletionGracePeriodSeconds") or own)


def refuse(call: Call, item: Json, errors: Errors) -> None:
    """Raise a failure if there are refused fields; its message contains the object's own kind."""
    if errors:
        shown = shown_empty(sent_value(call), stated_errors(errors))
        causes = [(each.reason, each.message, each.field) for each in shown]
        kind = call.resource.stored
        kind = msgspec.structs.replace(kind, kind=item.get("kind", kind.kind))
        raise failures.invalid(kind, item["metadata"].get("name", ""), causes)


def _built_in(call: Call) -> tuple[str, str] | None:
    """Return group and kind of the object; ``None`` for a custom kind."""
    return call.resource.key if call.resource.definition is None else None


def _space(call: Call) -> str:
    return call.route.namespace if call.resource.kind.namespaced else ""


def _drop_assigned(metadata: Json) -> None:
    for name in _ASSIGNED & metadata.keys():
        del metadata[name]


def _generated(state: ApiState, prefix: str) -> str:
    return prefix[:_MAX_PREFIX] + state.drawn_suffix()


def _dry(state: ApiState, call: Call, item: Json) -> Json:
    """Return a new object as if it were stored."""
    item["metadata"]["uid"] = state.rng.uid()
    item["metadata"]["creationTimestamp"] = state.now
    return item if call.resource.definition is None else _as_stored(call, item)


def _as_stored(call: Call, item: Json) -> Json:
    """Return an object as a read after the write would return it."""
    return shape(call, canonical(call, item))
