"""The rules of the kind of an object: fields, schemas, expressions."""

from typing import Any, Final

import msgspec

from stretto.api.checks.fields.errors import Errors, FieldError
from stretto.api.checks.fields.metadata import plain_finalizer_warnings
from stretto.api.checks.kinds.pods.security import allowing_privileged
from stretto.api.checks.kinds.table import check_kind
from stretto.api.checks.kinds.warnings import warnings_of
from stretto.api.schema.ordering import in_order
from stretto.web.api.admission.devices import admin_access_errors
from stretto.web.api.call import Call
from stretto.web.api.cel.checks import expression_errors
from stretto.web.api.crds.objects import check_custom
from stretto.web.api.objects.recurring.cache import recent, seen_text
from stretto.web.api.state import ApiState

Json = dict[str, Any]

_POD: Final = ("", "Pod")
_COMPOUND: Final = (" value: [", " value: {")
"""Starts of quoted lists and maps."""
_ORDERED_BYTES: Final = 64 << 10
"""Maximum size in JSON of an object whose quoted members are in Go's order: it is checked twice."""


def kind_errors(state: ApiState, call: Call, item: Json, old: Json | None) -> Errors:
    """Return the refused fields of a kind of Kubernetes or of a custom kind.

    Messages quote members in Go's order, unless the object is large.
    """
    errors = _kind_errors(state, call, item, old)
    messages = "\n".join([each.message for each in errors])
    if not any(start in messages for start in _COMPOUND):
        return errors
    if len(msgspec.json.encode(item)) > _ORDERED_BYTES:
        return errors
    struct = call.resource.struct if call.resource.definition is None else None
    return _kind_errors(state, call, in_order(item, struct), old)


def _kind_errors(state: ApiState, call: Call, item: Json, old: Json | None) -> Errors:
    if call.resource.definition is not None:
        errors = check_custom(call.resource, item, old, call.route.subresource)
        if not errors and not call.route.subresource:
            call.warnings += plain_finalizer_warnings(item["metadata"], (old or {}).get("metadata"))
        return errors
    if call.resource.key == _POD and old is None and not call.route.subresource:
        return _new_pod_errors(state, call, item)
    errors = admin_access_errors(state, call, item, old)
    errors += check_kind(call.resource.key, item, old, call.route.subresource)
    if state.allows_privileged:
        errors = allowing_privileged(errors)
    if not call.route.subresource:
        refused = [each.field for each in errors]
        errors += expression_errors(call.resource.key, item, old, refused)
    if not errors and not call.route.subresource:
        call.warnings += warnings_of(call.resource.key, item, old)
    return errors


def _new_pod_errors(state: ApiState, call: Call, item: Json) -> Errors:
    """Return the refused fields of a new pod: of its annotations and its spec."""
    annotations = item["metadata"].get("annotations")
    judged = {"metadata": {"annotations": annotations}, "spec": item.get("spec")}
    text = seen_text(judged, len(call.request.body))
    found, warnings = _judged_text(text) if text else _judged(judged)
    errors = allowing_privileged(found) if state.allows_privileged else list(found)
    if not errors:
        call.warnings += warnings
    return errors


@recent
def _judged_text(text: bytes) -> tuple[tuple[FieldError, ...], tuple[str, ...]]:
    return _judged(msgspec.json.decode(text))


def _judged(item: Json) -> tuple[tuple[FieldError, ...], tuple[str, ...]]:
    """Return refused fields and warnings of annotations and spec of a pod."""
    return tuple(check_kind(_POD, item, None)), tuple(warnings_of(_POD, item))
