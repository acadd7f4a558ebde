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
    #: The form of objects.
    accepted: Accepted
    #: Objects that the stream begins with.
    initial: Sequence[Record]
    #: Version after which changes follow.
    since: int
    #: Changes up to this version are left out.
    after: int = 0
    #: True if the stream begins with the present objects.
    starts_now: bool = False
