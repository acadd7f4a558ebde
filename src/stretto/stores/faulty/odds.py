"""Probability and effect of each fault of a ``FaultyStore``.

The caller draws the odds once for each seed. All other guarantees stay valid: versions increase; a
condition on uid or version is checked when the write takes effect; an event shows a state that the
object has had; events of one watch are in the order of versions (except ``stale_event``); ``get``
returns acknowledged writes and is never stale.
"""

from typing import Final

import msgspec

LONGEST_DELAY: Final = 5.0
"""Maximum delay of events in seconds: a real watch that is silent for longer counts as dead."""

LONGEST_LANDING: Final = 10.0
"""Maximum delay of a late write in seconds: a new leader must wait that long."""


class FaultOdds(msgspec.Struct, frozen=True, kw_only=True):
    """The probability of each fault, from 0 (never) to 1 (always)."""

    #: Per event: the event is lost and its watch continues; only a list shows the gap.
    drop_event: float = 0.0
    #: Per event: this event and all later ones are lost, and the next poll raises TooOldError.
    cut_event: float = 0.0
    #: Per event: the event is delivered twice in a row.
    double_event: float = 0.0
    #: Per event: this event and all later ones are delayed for up to LONGEST_DELAY seconds.
    delay_event: float = 0.0
    #: Per event: the previous state and then the event are delivered again, as after a reconnect to
    #: a server that lags and catches up.
    stale_event: float = 0.0
    #: Per poll: TooOldError; only the watch is lost.
    cut_watch: float = 0.0
    #: Per complete list: an earlier result is returned, with its own (older) version.
    stale_list: float = 0.0
    #: Per write call: the call is executed, and every reply is lost.
    lost_reply: float = 0.0
    #: Per write call: the call is not executed, and the replies are unknown.
    lost_request: float = 0.0
    #: Per write call: the replies are unknown, and the call is executed up to LONGEST_LANDING
    #: seconds later, under the conditions at that time.
    late_request: float = 0.0
    #: Per write call of several items: the first few are executed, the others are not, and their
    #: replies are refused or unknown.
    half_batch: float = 0.0
    #: Per single write: refused, as by an overloaded or failing server.
    refused_write: float = 0.0
    #: Per batch of binds sent without waiting: the batch is executed, and its replies arrive up to
    #: LONGEST_LANDING seconds after it was sent.
    late_answer: float = 0.0


NO_FAULTS: Final = FaultOdds()
"""No faults."""
