"""Sequences of calls to one member, such as joining, that no controller waits for."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple, Protocol, TypeVar

from stretto.base.errors import StrettoError
from stretto.reconcile.reconciler import RetryError

T = TypeVar("T")


class CallPlace(NamedTuple):
    """What a sequence is for. Its controller is due again when the sequence has ended."""

    #: Name of the controller.
    controller: str
    #: Name of the cluster.
    cluster: str
    #: Uid of the cluster.
    uid: str
    #: What the sequence does, in one word.
    purpose: str


class MemberCalls(Protocol):
    """Runs sequences of calls, at most one for each place."""

    def answer(self, place: CallPlace, work: Callable[[], T]) -> Future[T] | None:
        """The result of the sequence of a place, given once.

        Args:
            place: the controller and the cluster.
            work: the sequence; it is begun if none of this place is running or has ended.

        Returns:
            A finished future, or ``None`` while the sequence runs.
        """
        ...


class InlineCalls:
    """Runs every sequence at once, for members of this process."""

    def answer(self, place: CallPlace, work: Callable[[], T]) -> Future[T] | None:
        """The result of ``work``."""
        made: Future[T] = Future()
        try:
            made.set_result(work())
        except (RetryError, StrettoError) as error:
            made.set_exception(error)
        return made


class PooledCalls:
    """Runs sequences on a bounded number of threads."""

    def __init__(self, threads: int, announce: Callable[[str, str], None]) -> None:
        """Start without threads.

        Args:
            threads: sequences that run at once; further ones wait.
            announce: called on any thread with a controller and a cluster when a sequence has
                ended.
        """
        self._pool = ThreadPoolExecutor(threads, "stretto-members")
        self._announce = announce
        self._running: dict[CallPlace, Future[Any]] = {}

    def answer(self, place: CallPlace, work: Callable[[], T]) -> Future[T] | None:
        """The result of the sequence of a place, given once; ``None`` while it runs."""
        running = self._running.get(place)
        if running is None:
            running = self._running[place] = self._pool.submit(work)
            running.add_done_callback(lambda _: self._announce(place.controller, place.cluster))
            return None
        if not running.done():
            return None
        return self._running.pop(place)

    def close(self) -> None:
        """Begin no further sequence."""
        self._pool.shutdown(wait=False, cancel_futures=True)
