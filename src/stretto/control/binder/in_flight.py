"""Binds on their way: sent, not answered yet, while the plane goes on.

A server takes a millisecond for a bind where a decision takes microseconds, so a scheduler that
waits for its answers leaves the server idle while it thinks. Where the store can send without
waiting, the next batch goes out while the last answers of the one before are still to come. Until
its answer has come a claim stays charged, as it does when an answer is late.
"""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from typing import Final, NamedTuple

from stretto.stores.store import BeginBind, Bind, Replies, Store

AHEAD: Final = 256
"""Binds that may be unanswered when more are sent: the server stays busy, and what is urgent waits
behind few."""
_TOGETHER: Final = 256
"""Binds whose answers are taken together: the first of a large batch do not wait for its last."""


class AnsweredBinds(NamedTuple):
    """Binds that have been answered."""

    #: Row and serial of each pod, as they were when it was sent.
    rows: Sequence[tuple[int, int]]
    #: The answers, in the order of the rows.
    replies: Replies
    #: Rows that were sent before, and until when that bind may still land.
    again: Mapping[int, float]


class _BindBatch(NamedTuple):
    """Binds that have been sent together."""

    rows: Sequence[tuple[int, int]]
    again: Mapping[int, float]
    answers: Future[Replies]


class BindsInFlight:
    """Binds under way, in the order in which they were sent."""

    def __init__(self, store: Store) -> None:
        """Nothing is under way."""
        #: Binds that have been sent and whose answers nobody has taken.
        self.unanswered = 0
        self._begin: BeginBind | None = getattr(store, "begin_bind", None)
        self._way: deque[_BindBatch] = deque()

    @property
    def can_send(self) -> bool:
        """Whether the store can send without waiting."""
        return self._begin is not None

    def rows(self) -> Iterator[int]:
        """Rows whose binds are under way."""
        return (row for flight in self._way for row, _ in flight.rows)

    def begin(
        self, binds: Sequence[Bind], rows: Sequence[tuple[int, int]], again: Mapping[int, float]
    ) -> None:
        """Send binds; ``rows`` are the rows of their pods with their serials."""
        assert self._begin is not None
        for start in range(0, len(binds), _TOGETHER):
            part = slice(start, start + _TOGETHER)
            self._way.append(_BindBatch(rows[part], again, self._begin(binds[part])))
        self.unanswered += len(binds)

    def land(self, most: float) -> Iterator[AnsweredBinds]:
        """Binds that have been answered, oldest first; waits while more than ``most`` have not.

        Raises:
            StrettoError: the store could not be used at all.
        """
        while self._way and (self.unanswered > most or self._way[0].answers.done()):
            flight = self._way.popleft()
            self.unanswered -= len(flight.rows)
            yield AnsweredBinds(flight.rows, flight.answers.result(), flight.again)
