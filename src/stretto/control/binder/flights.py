"""Binds on their way: sent, not answered yet, while the plane goes on.

A server takes a millisecond for a bind where a decision takes microseconds, so a scheduler that
waits for its answers leaves the server idle while it thinks. Where the store can send without
waiting, one batch may be under way; the next waits for it. Until the answer has come the claims
stay charged, as they do when an answer is late.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import NamedTuple

from stretto.stores.store import BeginBind, Bind, Replies, Store


class Landed(NamedTuple):
    """A batch that has been answered."""

    #: Row and serial of each pod, as they were when it was sent.
    rows: list[tuple[int, int]]
    #: The answers, in the order of the rows.
    replies: Replies
    #: Rows that were sent before, and until when that bind may still land.
    again: Mapping[int, float]


class Flights:
    """At most one batch of binds under way."""

    def __init__(self, store: Store) -> None:
        """Nothing is under way."""
        self._begin: BeginBind | None = getattr(store, "begin_bind", None)
        self._rows: list[tuple[int, int]] = []
        self._again: Mapping[int, float] = {}
        self._future: Future[Replies] | None = None

    @property
    def possible(self) -> bool:
        """Whether the store can send without waiting."""
        return self._begin is not None

    @property
    def under_way(self) -> bool:
        """Whether a batch has been sent whose answers nobody has looked at."""
        return self._future is not None

    def begin(
        self, binds: Sequence[Bind], rows: list[tuple[int, int]], again: Mapping[int, float]
    ) -> None:
        """Send a batch; the one before has landed."""
        assert self._begin is not None
        assert self._future is None
        self._rows, self._again = rows, again
        self._future = self._begin(binds)

    def land(self, *, wait: bool) -> Landed | None:
        """The batch that was under way, if it has been answered, or once it is.

        Raises:
            StrettoError: the store could not be used at all.
        """
        future = self._future
        if future is None or not (wait or future.done()):
            return None
        self._future = None
        return Landed(self._rows, future.result(), self._again)
