"""Timeouts, limits and back-off of the store."""

from typing import Final

import msgspec

from stretto.base.rng import Rng

_MIB: Final = 1 << 20


class KubeOptions(msgspec.Struct, frozen=True):
    """Times in seconds, sizes in bytes."""

    #: How long one write is retried before it is answered without success, and how long a gate
    #: goes without an answer before the rest of a batch is not sent.
    write_timeout: float = 5.0
    #: How long one read is retried before it is an error.
    read_timeout: float = 15.0
    #: Longest wait for a connection.
    connect: float = 3.0
    #: Longest wait for the answer to one request. Writes tell the server to give up a second
    #: earlier, so that an unanswered write has landed by then or never will.
    answer: float = 8.0
    #: First wait before a retry; each further one is twice as long.
    first_wait: float = 0.1
    #: Longest wait before a retry, and longest ``Retry-After`` that is obeyed.
    longest_wait: float = 8.0
    #: A watch without a byte for so long is dead: servers send a bookmark every minute.
    watch_idle: float = 90.0
    #: How long the server keeps a watch open; drawn from here up to twice as much, so that the
    #: watches of many clients do not end together.
    watch_for: float = 300.0
    #: Seconds between checks for a kind that the server does not serve (its CRD is missing).
    absent_every: float = 15.0
    #: Objects of a page, if lists are not streamed.
    page: int = 500
    #: Events that a watch queues for its reader; beyond them it stops reading.
    held_events: int = 1 << 16
    #: Seconds between reads of a token file.
    token_every: float = 60.0
    #: Name under which the server notes the fields that are written; empty for its default.
    field_manager: str = ""
    #: Longest answer to a single request, and longest page of a list.
    most_bytes: int = 64 * _MIB
    #: Longest line of a stream: one event with the largest object that etcd takes.
    most_line: int = 4 * _MIB


class Backoff:
    """Waits that double up to a bound, each drawn from its upper half to spread clients."""

    def __init__(self, options: KubeOptions, rng: Rng) -> None:
        self._options = options
        self._rng = rng
        self._tries = 0

    def next(self, retry_after: float | None = None) -> float:
        """Seconds to wait now; at least what the server requested, within bounds."""
        options = self._options
        step = min(options.longest_wait, options.first_wait * 2.0 ** min(self._tries, 30))
        self._tries += 1
        wait = step * (0.5 + self._rng.random() / 2)
        if retry_after is not None:
            wait = max(wait, min(retry_after, options.longest_wait) * (1 + self._rng.random() / 4))
        return wait

    def reset(self) -> None:
        """Success: the next wait is the first again."""
        self._tries = 0
