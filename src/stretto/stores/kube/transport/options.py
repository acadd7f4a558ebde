"""How patient the store is, and how its waits grow."""

from typing import Final

import msgspec

from stretto.base.rng import Rng

_MIB: Final = 1 << 20


class KubeOptions(msgspec.Struct, frozen=True):
    """Times in seconds, sizes in bytes."""

    #: How long one write is tried again before it is answered without success, and how long a lane
    #: goes without an answer before what is left of a batch is not sent at all.
    write_patience: float = 5.0
    #: How long one read is tried again before it is an error.
    read_patience: float = 15.0
    #: Longest wait for a connection.
    connect: float = 3.0
    #: Longest wait for the answer to one request. Writes tell the server to give up a second
    #: earlier, so that a write that went unanswered has landed by then or never will.
    answer: float = 8.0
    #: First wait before another try; each further one is twice as long.
    first_wait: float = 0.1
    #: Longest wait before another try, and longest that a server's ``Retry-After`` is obeyed.
    longest_wait: float = 8.0
    #: A watch without a byte for so long is dead: servers send a bookmark every minute.
    watch_idle: float = 90.0
    #: How long the server keeps a watch open; drawn from here up to twice as much, so that the
    #: watches of many clients do not end together.
    watch_for: float = 300.0
    #: How often a kind is looked for that the server does not have (its CRD is not installed).
    absent_every: float = 15.0
    #: Objects of a page, where lists do not stream.
    page: int = 500
    #: Changes that a watch holds for its reader; beyond them it stops reading.
    held_events: int = 1 << 16
    #: How often a token is read again.
    token_every: float = 60.0
    #: Longest answer to a single request, and longest page of a list.
    most_bytes: int = 64 * _MIB
    #: Longest line of a stream: one event with the largest object that etcd takes.
    most_line: int = 4 * _MIB


class Backoff:
    """Waits that double up to a bound, each drawn from its upper half so that many spread out."""

    def __init__(self, options: KubeOptions, rng: Rng) -> None:
        self._options = options
        self._rng = rng
        self._tries = 0

    def next(self, asked: float | None = None) -> float:
        """Seconds to wait now; at least what the server asked for, within bounds."""
        options = self._options
        step = min(options.longest_wait, options.first_wait * 2.0 ** min(self._tries, 30))
        self._tries += 1
        wait = step * (0.5 + self._rng.random() / 2)
        if asked is not None:
            wait = max(wait, min(asked, options.longest_wait) * (1 + self._rng.random() / 4))
        return wait

    def reset(self) -> None:
        """It went well: the next wait is the first again."""
        self._tries = 0
