"""Replacement of written objects by the versions that reviewers have changed."""

from typing import Any

from stretto.api.admission.defaulting.walk import set_defaults
from stretto.api.schema.decoding import DecodeError
from stretto.api.wire.kinds import Kind
from stretto.web.api.configured.conversion import converted
from stretto.web.api.failures import failed_internally, internal
from stretto.web.api.objects.reading import OtherKindError, decoded_object
from stretto.web.api.state import AdmittedWrite, ApiState

Json = dict[str, Any]


def replace_reviewed(
    state: ApiState, admission: AdmittedWrite, value: Json, kind: Kind, *, strict: bool
) -> None:
    """Replace the reviewed object of a write.

    Args:
        state: the server.
        admission: the write.
        value: the replacement, in the version of ``kind``.
        kind: the resource for which the reviewer matched.
        strict: whether an unknown member is refused, or omitted.

    Raises:
        ApiError: the value does not match the kind.
    """
    if admission.shown is not None:
        _fill(admission.shown, value)
    elif admission.item is not None:
        _fill(admission.item, _read(state, admission, value, kind, strict=strict))


def _read(
    state: ApiState, admission: AdmittedWrite, value: Json, kind: Kind, *, strict: bool
) -> Json:
    """Return a changed object as decoded by its kind, in the version of the request."""
    resource = admission.resource
    other = state.resources.find(kind.group, kind.version, kind.plural) or resource
    try:
        item, unknown = decoded_object(value, other)
    except OtherKindError as error:
        raise internal(str(error)) from error
    except DecodeError as error:
        raise failed_internally(str(error)) from error
    if unknown and strict and resource.definition is None:
        raise failed_internally(f"strict decoding error: {', '.join(unknown)}")
    item = converted(item, other, resource, admission.call.request.memory)
    if resource.definition is None:
        set_defaults(item, resource.struct)
    return item


def _fill(item: Json, other: Json) -> None:
    item.clear()
    item.update(other)
