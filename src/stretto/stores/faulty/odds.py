"""Probability and effect of each fault of a ``FaultyStore``.

The caller draws the odds once for each seed. All other guarantees hold: versions rise, a condition
on uid or version is checked where the write lands, an event shows a state that the object has had,
events of one watch are in the order of versions (except ``stale_event``), and ``get`` returns
acknowledged writes and is never stale.
"""

from typing import Final

import msgspec

LONGEST_DELAY: Final = 5.0
"""Maximum seconds for which events are delayed: a real watch silent for longer counts as dead."""

LONGEST_LANDING: Final = 10.0
"""Maximum seconds after which a late write lands: a new leader must wait that long."""


class FaultOdds(msgspec.Struct, frozen=True, kw_only=True):
    """The probability of each fault, from 0 (never) to 1 (always)."""

    #: For each event: it is lost and its watch continues; only a list shows the gap.
    drop_event: float = 0.0
    #: For each event: it and all later ones are lost, and the next poll raises TooOldError.
    cut_event: float = 0.0
    #: For each event: it is delivered twice in a row.
    double_event: float = 0.0
    #: For each event: it and all later ones are delayed for up to LONGEST_DELAY seconds.
    delay_event: float = 0.0
    #: For each event: the previous state and then the event are delivered again, as after a
    #: reconnect to a server that lags and catches up.
    stale_event: float = 0.0
    #: For each poll: TooOldError; only the watch is lost.
    cut_watch: float = 0.0
    #: For each whole list: an earlier answer is returned, with its own (older) version.
    stale_list: float = 0.0
    #: For each write call: it is done, and every answer is lost.
    lost_reply: float = 0.0
    #: For each write call: it is not done, and the answers are unknown.
    lost_request: float = 0.0
    #: For each write call: the answers are unknown, and it lands up to LONGEST_LANDING
    #: seconds later, under the conditions that hold then.
    late_request: float = 0.0
    #: For each write call of several items: the first few are done, the others are not, and
    #: their answers are refused or unknown.
    half_batch: float = 0.0
    #: For each single write: refused, as by an overloaded or failing server.
    refused_write: float = 0.0
    #: For each batch of binds sent without waiting: it lands, and is answered later, up to
    #: LONGEST_LANDING seconds after it was sent.
    late_answer: float = 0.0


NO_FAULTS: Final = FaultOdds()
"""No faults."""

FAULTS: Final = FaultOdds.__struct_fields__
"""The names of all faults."""
