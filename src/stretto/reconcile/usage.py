"""Use of pods that an API server answers later, for controllers that must not wait.

A controller evaluates an object again until the answer is received. A server without an answer
delays only the objects that need it.
"""

from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from stretto.api.types.capacity.metrics import PodMetrics
from stretto.base.clock import Clock
from stretto.base.errors import UnreachableError
from stretto.reconcile.reconciler import RetryError

_K = TypeVar("_K", bound=Hashable)

FRESH_S: Final = 10.0
"""Seconds for which an answer is used; autoscalers are evaluated every 15 seconds or less often."""
WITHIN_S: Final = 5.0
"""Seconds after which a request without an answer has failed."""
AGAIN_S: Final = 0.25
"""Seconds until an evaluation checks for the answers again."""

Answer = Future[Sequence[PodMetrics]]


@dataclass(frozen=True, slots=True)
class _UseRequest:
    """A request to a server."""

    #: Monotonic time of the request.
    since: float
    #: The future answer.
    answer: Answer


class UseRequests(Generic[_K]):
    """Requests for the use of pods, each repeated when its answer is no longer fresh."""

    def __init__(self, send: Callable[[_K], Answer], clock: Clock) -> None:
        """Start without requests.

        Args:
            send: sends a request.
            clock: monotonic time.
        """
        self._send = send
        self._clock = clock
        self._sent: dict[_K, _UseRequest] = {}

    def answer(self, key: _K) -> Sequence[PodMetrics] | None:
        """Return the answer to a request; ``None`` until it is received.

        Raises:
            StrettoError: the server refuses the request, or has not answered for too long.
        """
        now = self._clock.monotonic()
        sent = self._sent.get(key)
        if sent is None or now - sent.since > FRESH_S:
            self._sent = {k: q for k, q in self._sent.items() if now - q.since <= FRESH_S}
            sent = self._sent[key] = _UseRequest(now, self._send(key))
        if sent.answer.done():
            return sent.answer.result()
        if now - sent.since < WITHIN_S:
            return None
        raise UnreachableError(f"no answer within {WITHIN_S:g} seconds")


class RequestedUse:
    """Metrics of the pods of one cluster, by namespace."""

    def __init__(self, send: Callable[[str], Answer], clock: Clock) -> None:
        """Start without requests.

        Args:
            send: sends a request for the metrics of a namespace.
            clock: monotonic time.
        """
        self._requests: UseRequests[str] = UseRequests(send, clock)

    def pods(self, namespace: str) -> Sequence[PodMetrics]:
        """Return the metrics of the running pods of a namespace.

        Raises:
            RetryError: the answer is still missing.
            StrettoError: the server refuses the request, or has not answered for too long.
        """
        found = self._requests.answer(namespace)
        if found is None:
            raise RetryError(f"metrics of namespace {namespace} are not received yet", AGAIN_S)
        return found
