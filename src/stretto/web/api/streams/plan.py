"""The requested contents of a watch."""

from collections.abc import Sequence
from dataclasses import dataclass

from stretto.stores.store import Record
from stretto.web.api.negotiation import Accepted
from stretto.web.api.selection.options import Selection


@dataclass(frozen=True)
class StreamPlan:
    """The contents of a stream."""

    #: The selection.
    selection: Selection
    #: The accepted form of objects.
    accepted: Accepted
    #: Initial objects of the stream.
    initial: Sequence[Record]
    #: Version from which changes are sent.
    since: int
    #: Version up to which changes are skipped.
    after: int = 0
    #: True if the stream begins with the current objects.
    starts_now: bool = False
