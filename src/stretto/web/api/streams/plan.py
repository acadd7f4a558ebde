"""What a watch yields, as requested."""

from collections.abc import Sequence
from dataclasses import dataclass

from stretto.stores.store import Record
from stretto.web.api.negotiation import Accepted
from stretto.web.api.selection.options import Selection


@dataclass(frozen=True)
class StreamPlan:
    """What a stream yields."""

    #: What is selected.
    selection: Selection
    #: The form of objects.
    accepted: Accepted
    #: Objects that the stream begins with.
    initial: Sequence[Record]
    #: Version after which changes follow.
    since: int
    #: Changes up to this version are left out.
    after: int = 0
    #: Whether the stream begins with the present objects.
    starts_now: bool = False
