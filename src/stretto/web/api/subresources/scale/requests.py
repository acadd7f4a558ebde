"""Requests that change a scale, as functions from the current scale to the desired one."""

from collections.abc import Callable
from typing import Any, Final

from stretto.api.edit.apply.managers import Managers, managers_of
from stretto.web.api.call import Call
from stretto.web.api.failures import ApiError, bad_request
from stretto.web.api.objects.naming import named
from stretto.web.api.patching.configurations import heed_repeated, merged, read_config
from stretto.web.api.patching.media import APPLY_PATCH, patch_type
from stretto.web.api.patching.patches import patched
from stretto.web.api.patching.results import read_result
from stretto.web.api.state import ApiState
from stretto.web.api.subresources.scale.ownership import own_scale, scale_frame
from stretto.web.api.subresources.scale.replicas import (
    SCALE,
    check_applied,
    decoded_scale,
    scale_struct,
    typed_scale,
)
from stretto.web.api.subresources.typed import read_typed

Json = dict[str, Any]

ScaleChange = Callable[[Json], tuple[Json, Managers]]
"""Maps a scale with its owners to the desired scale and the new owners."""

_UNOWNED: Final = (
    "failed to create manager for existing fields: failed to convert live object (/; "
    "autoscaling/v1, Kind=Scale) to proper version: request to convert CR to an invalid "
    "group/version: autoscaling/v1"
)
"""Refusal of an apply to the scale of a custom object whose replicas have no owner."""
_UNREGISTERED: Final = (
    'no kind is registered for the type v1.Scale in scheme "pkg/runtime/scheme.go:111"'
)
"""Message of kube-apiserver about any unreadable scale of a custom object."""


def read_update(state: ApiState, call: Call) -> ScaleChange:
    """Return the change of a PUT."""
    try:
        wanted = read_typed(call, SCALE, scale_struct())
    except ApiError as error:
        is_custom = call.resource.definition is not None
        if is_custom and error.code == 400:
            raise bad_request(_UNREGISTERED) from error
        raise
    named(call, wanted)
    return lambda before: (wanted, own_scale(state, call, before, wanted))


def read_patch(state: ApiState, call: Call) -> ScaleChange:
    """Return the change of a PATCH."""
    media = patch_type(call)
    if media == APPLY_PATCH:
        return lambda before: _applied(state, call, before)
    return lambda before: _patched(state, call, before, media)


def _patched(state: ApiState, call: Call, before: Json, media: str) -> tuple[Json, Managers]:
    kind = scale_struct()
    result = patched(call, before, media, kind)
    read = decoded_scale if result.is_strategic else typed_scale
    wanted = read_result(call, result, kind, read)
    named(call, wanted)
    return wanted, own_scale(state, call, before, wanted)


def _applied(state: ApiState, call: Call, before: Json) -> tuple[Json, Managers]:
    config = read_config(call, SCALE)
    if call.resource.definition is not None and not managers_of(before):
        raise ApiError(500, "", _UNOWNED)
    states = decoded_scale({})[0], before
    wanted, owners = merged(call, config, states, scale_frame(state, call, "Apply"))
    heed_repeated(call, config)
    named(call, wanted)
    check_applied(wanted)
    return wanted, owners
