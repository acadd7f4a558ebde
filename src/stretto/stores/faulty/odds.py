"""How often each fault of a ``FaultyStore`` happens, and what each of them breaks.

The caller draws the odds, once for each seed. Whatever is not named here is kept: versions rise,
a condition on uid or version is checked where the write lands, an event shows a state that the
object has had, events of one watch come in the order of versions (``stale_event`` aside), and an
acknowledged write is there for a ``get``, which is never stale.
"""

from typing import Final

import msgspec

LONGEST_DELAY: Final = 5.0
"""Seconds for which events are held back at most: beyond it a real watch is taken for dead."""

LONGEST_FLIGHT: Final = 10.0
"""Seconds after which a late write lands at most: who takes over must wait as long."""


class FaultOdds(msgspec.Struct, frozen=True, kw_only=True):
    """The chance of each fault, from 0 (never) to 1 (always)."""

    #: For each event: it is lost, and its watch goes on as if nothing had been: a gap that only a
    #: list can show.
    drop_event: float = 0.0
    #: For each event: it is lost with all that follow it, and the next poll raises TooOldError.
    cut_event: float = 0.0
    #: For each event: it comes twice, one right after the other.
    double_event: float = 0.0
    #: For each event: it and all behind it are held back for up to LONGEST_DELAY seconds.
    delay_event: float = 0.0
    #: For each event: the state before it comes once more and then the event again, as after a
    #: reconnect to a server that lags and catches up.
    stale_event: float = 0.0
    #: For each poll: TooOldError, with nothing lost but the watch.
    cut_watch: float = 0.0
    #: For each whole list: an earlier answer comes once more, with its own (older) version.
    stale_list: float = 0.0
    #: For each write call: it is done, and every answer is lost.
    lost_reply: float = 0.0
    #: For each write call: it is not done, and the answers say that nobody knows.
    lost_request: float = 0.0
    #: For each write call: the answers say that nobody knows, and it lands up to LONGEST_FLIGHT
    #: seconds later, under the conditions that hold then.
    late_request: float = 0.0
    #: For each write call of more than one: the first few are done, and the others are not, which
    #: is said (refused) or not said (unknown).
    half_batch: float = 0.0
    #: For each single write: it is refused, as by a server that is overloaded or out of order.
    refused_write: float = 0.0
    #: For each batch of binds whose sender does not wait: it lands, and is answered after that, up
    #: to LONGEST_FLIGHT seconds later.
    late_answer: float = 0.0


NO_FAULTS: Final = FaultOdds()
"""Nothing happens."""

FAULTS: Final = FaultOdds.__struct_fields__
"""The names of all kinds of fault."""
