"""Timeouts, limits and back-off of the store."""

from typing import Final

import msgspec

from stretto.base.rng import Rng

_MIB: Final = 1 << 20


class KubeOptions(msgspec.Struct, frozen=True):
    """Timeouts, limits and back-off; times in seconds, sizes in bytes."""

    #: Retry time of one write, after which it is answered without success; also the time without a
    #: response after which the rest of a batch is not sent.
    write_timeout: float = 5.0
    #: Retry time of one read, after which it is an error.
    read_timeout: float = 15.0
    #: Timeout of a connection.
    connect: float = 3.0
    #: Timeout of the response to one request. Writes tell the server to give up a second earlier,
    #: so that an unanswered write has taken effect by then or never will.
    answer: float = 8.0
    #: First wait before a retry; each further wait is twice as long.
    first_wait: float = 0.1
    #: Longest wait before a retry, and longest ``Retry-After`` that is respected.
    longest_wait: float = 8.0
    #: Time without a byte after which a watch is dead; servers send a bookmark every minute.
    watch_idle: float = 90.0
    #: Minimum time that the server keeps a watch open. The time is drawn from here to twice as
    #: much, so that the watches of many clients do not end together.
    watch_for: float = 300.0
    #: Seconds between checks for a kind that the server does not serve (its CRD is missing).
    absent_every: float = 15.0
    #: Number of objects per page, if lists are not streamed.
    page: int = 500
    #: Maximum number of queued events of a watch; beyond it, the watch stops reading.
    held_events: int = 1 << 16
    #: Seconds between reads of a token file.
    token_every: float = 60.0
    #: Field manager of the written fields; empty for the server's default.
    field_manager: str = ""
    #: Maximum size of a response to a single request, and of a page of a list.
    most_bytes: int = 64 * _MIB
    #: Maximum length of a line of a stream: one event with the largest object that etcd accepts.
    most_line: int = 4 * _MIB


class Backoff:
    """Waits that double up to a bound, each drawn from its upper half to spread clients."""

    def __init__(self, options: KubeOptions, rng: Rng) -> None:
        self._options = options
        self._rng = rng
        self._tries = 0

    def next(self, retry_after: float | None = None) -> float:
        """Return the seconds to wait now, at least the requested ones, within bounds."""
        options = self._options
        step = min(options.longest_wait, options.first_wait * 2.0 ** min(self._tries, 30))
        self._tries += 1
        wait = step * (0.5 + self._rng.random() / 2)
        if retry_after is not None:
            wait = max(wait, min(retry_after, options.longest_wait) * (1 + self._rng.random() / 4))
        return wait

    def reset(self) -> None:
        """Reset after a success: the next wait is the first one again."""
        self._tries = 0
