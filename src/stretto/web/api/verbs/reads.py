"""Verbs that read stored and computed objects."""

from typing import Final

from stretto.web.api.call import Call, version_number
from stretto.web.api.failures import bad_request, internal, too_new
from stretto.web.api.message import Answer, ApiResponse
from stretto.web.api.objects.changes import shape
from stretto.web.api.selection.pages import Snapshots
from stretto.web.api.state import ApiState
from stretto.web.api.verbs.answers import answer
from stretto.web.api.verbs.computed import computed
from stretto.web.api.verbs.lists import lists
from stretto.web.api.verbs.watch import watch

READS: Final = ("get", "list", "watch")
"""Verbs that read."""
_EXPORT: Final = "the export parameter, deprecated since v1.14, is no longer supported"


def read(state: ApiState, call: Call, snapshots: Snapshots) -> Answer:
    """Answer a read call.

    Raises:
        ApiError: an option is malformed, or the object does not exist.
    """
    if call.resource.computed is not None:
        return computed(state, call, call.resource.computed)
    if call.verb == "watch":
        return watch(state, call)
    return lists(state, call, snapshots) if call.verb == "list" else _get(state, call)


def check_get(state: ApiState, call: Call) -> None:
    """Check the options of a read of one object; a resource version is the minimum version.

    Raises:
        ApiError: an option is malformed, or the version does not exist yet.
    """
    if call.request.flag("export"):
        raise bad_request(_EXPORT)
    version = call.request.parameter("resourceVersion")
    try:
        number = version_number(version) if version else 0
    except ValueError as error:
        raise internal(f'resourceVersion: Invalid value: "{version}": {error}') from error
    if number and number > state.storage.version:
        raise too_new(version, state.storage.version)


def _get(state: ApiState, call: Call) -> ApiResponse:
    check_get(state, call)
    found = state.storage.get(call.resource, call.route.namespace, call.route.name)
    return answer(state, call, shape(call, found.item))
