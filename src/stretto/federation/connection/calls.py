"""Sequences of calls to one member, such as joining, which run without blocking a controller."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple, Protocol, TypeVar

from stretto.base.errors import StrettoError
from stretto.reconcile.reconciler import RetryError

T = TypeVar("T")


class CallPlace(NamedTuple):
    """Key of a sequence; when it has ended, its controller reconciles the cluster again."""

    #: Name of the controller.
    controller: str
    #: Name of the cluster.
    cluster: str
    #: Uid of the cluster.
    uid: str
    #: Purpose of the sequence, in one word.
    purpose: str


class MemberCalls(Protocol):
    """Runs sequences of calls, at most one for each key."""

    def answer(self, place: CallPlace, work: Callable[[], T]) -> Future[T] | None:
        """Return the result of a sequence once; start the sequence if it is not running.

        Args:
            place: key of the sequence.
            work: the sequence; it starts if no sequence of this key runs or has a result.

        Returns:
            A finished future, or ``None`` while the sequence runs.
        """
        ...


class InlineCalls:
    """Runs every sequence immediately, for members of this process."""

    def answer(self, place: CallPlace, work: Callable[[], T]) -> Future[T] | None:
        """Run the sequence and return its result."""
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
            threads: maximum number of parallel sequences; further ones wait.
            announce: called on any thread with a controller and a cluster when a sequence has
                ended.
        """
        self._pool = ThreadPoolExecutor(threads, "stretto-members")
        self._announce = announce
        self._running: dict[CallPlace, Future[Any]] = {}

    def answer(self, place: CallPlace, work: Callable[[], T]) -> Future[T] | None:
        """Return the result of a sequence once; ``None`` while it runs."""
        running = self._running.get(place)
        if running is None:
            running = self._running[place] = self._pool.submit(work)
            running.add_done_callback(lambda _: self._announce(place.controller, place.cluster))
            return None
        if not running.done():
            return None
        return self._running.pop(place)

    def close(self) -> None:
        """Cancel waiting sequences and accept no further ones."""
        self._pool.shutdown(wait=False, cancel_futures=True)
