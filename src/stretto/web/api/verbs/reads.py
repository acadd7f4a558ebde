"""The verbs that read: of stored objects, and of computed ones."""

from typing import Final

from stretto.web.api.call import Call
from stretto.web.api.message import Answer
from stretto.web.api.selection.pages import Snapshots
from stretto.web.api.state import ApiState
from stretto.web.api.verbs.computed import computed
from stretto.web.api.verbs.get import get
from stretto.web.api.verbs.lists import lists
from stretto.web.api.verbs.watch import watch

READS: Final = ("get", "list", "watch")
"""Verbs that read."""


def read(state: ApiState, call: Call, snapshots: Snapshots) -> Answer:
    """Answer a call that reads.

    Raises:
        ApiError: an option is malformed, or there is no such object.
    """
    if call.resource.computed is not None:
        return computed(state, call, call.resource.computed)
    if call.verb == "watch":
        return watch(state, call)
    return lists(state, call, snapshots) if call.verb == "list" else get(state, call)
