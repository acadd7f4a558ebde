"""Requests with retries where retries are safe.

A request that was not sent, or was temporarily refused (429), is always retried. A request whose
response is lost is retried only if it is idempotent; otherwise its outcome is *unknown*. Each
purpose has one retry budget: if the server is down or refuses everything, the rest of a batch is
not sent, instead of a wait for each of a thousand pods.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Hashable, Sequence
from typing import Final, TypeVar

import msgspec

from stretto.base.errors import StrettoError, UnreachableError
from stretto.base.rng import Rng
from stretto.stores.kube.login.messages import HttpRequest, HttpResponse, LostError, NotSentError
from stretto.stores.kube.transport.answers import (
    refused_reply,
    status_of,
    unknown_reply,
    unsent_reply,
)
from stretto.stores.kube.transport.client import HttpClient
from stretto.stores.kube.transport.gates import UNFENCED, WIDTH, RequestGate, RequestPurpose
from stretto.stores.kube.transport.options import Backoff, KubeOptions
from stretto.stores.store import Replies, Reply

T = TypeVar("T")

_BUDGET: Final = "DisruptionBudget"
"""The cause of a 429 by a disruption budget, which is not a sign of load."""
_OF_THE_CALLER: Final = (401, 403)
"""Statuses about the caller's rights, not about an earlier attempt that may have succeeded."""


class WriteBatch:
    """One write call: its remaining retry time, and whether it has given up."""

    def __init__(self, timeout: float, leadership: int = 0) -> None:
        #: Number of leadership changes when the call began.
        self.leadership = leadership
        self._timeout = timeout
        self._began = asyncio.get_running_loop().time()
        #: Reason why no further item is sent; ``None`` while the server answers.
        self.gone: str | None = None

    def may_wait(self, seconds: float, since: float = float("-inf")) -> bool:
        """Return whether the time allows another attempt after a wait.

        Args:
            seconds: the wait.
            since: time at which the retry time restarted, by the loop's clock, if later than the
                start.
        """
        now = asyncio.get_running_loop().time()
        return now + seconds < max(self._began, since) + self._timeout


class RetryDeadline:
    """Remaining retry time and waits of one read."""

    def __init__(self, line: HttpClient, rng: Rng) -> None:
        self._line = line
        self._batch = WriteBatch(line.options.read_timeout)
        self._backoff = Backoff(line.options, rng)

    async def wait(self, why: str, retry_after: float | None) -> None:
        """Wait before another attempt, at least as long as the server requests.

        Raises:
            UnreachableError: the retry time is used up.
        """
        pause = self._backoff.next(retry_after)
        if not self._batch.may_wait(pause):
            server = (await self._line.login()).server
            raise UnreachableError(server, why, "try again when the server answers")
        await asyncio.sleep(pause)


class WriteInFlight(msgspec.Struct, frozen=True):
    """One write in flight."""

    #: Its purpose.
    purpose: RequestPurpose
    #: The request.
    request: HttpRequest
    #: WriteVerb and resource for messages, such as ``create pods/binding``.
    what: str
    #: True if the write is idempotent, so that it may be repeated after a lost response.
    repeatable: bool = False


class RequestSender:
    """Sender of requests through the gates of one client."""

    def __init__(self, line: HttpClient, rng: Rng) -> None:
        #: The connections.
        self.line = line
        self._rng = rng
        self._gates = {purpose: RequestGate(width) for purpose, width in WIDTH.items()}
        #: Order of batches: a batch begins when the previous one has no unsent items left.
        self._places = {purpose: asyncio.Semaphore(width) for purpose, width in WIDTH.items()}
        #: Returns whether a write may start now; not called for leases and reviews.
        self.may_write: Callable[[], bool] = lambda: True
        #: Number of unanswered writes, except leases and reviews.
        self.under_way = 0
        #: Number of leadership changes.
        self._leaderships = 0

    def fence(self, may_write: Callable[[], bool]) -> None:
        """Call ``may_write`` before each write; send it only if it returns True."""
        self.may_write = may_write

    async def abandon(self) -> None:
        """Stop sending the batches that have begun, because their leadership has ended."""
        self._leaderships += 1

    @property
    def options(self) -> KubeOptions:
        """Timeouts and limits."""
        return self.line.options

    # ------------------------------------------------------------ reads

    async def read(self, path: str, purpose: RequestPurpose = RequestPurpose.READ) -> HttpResponse:
        """Return the response to a GET that is not a sign of load or failure; a 4xx is a response.

        Raises:
            UnreachableError: there was no such response within the retry time.
        """
        deadline, gate = self.retry_deadline(), self._gates[purpose]
        while True:
            retry_after = None
            try:
                async with gate:
                    answer = await self.line.exchange(HttpRequest("GET", path))
                if answer.status != 429 and answer.status < 500:
                    return answer
                why, retry_after = status_of(answer).message, answer.retry_after
            except (NotSentError, LostError) as error:
                why = str(error)
            await deadline.wait(why, retry_after)

    def retry_deadline(self) -> RetryDeadline:
        """The retry time of a read that begins now."""
        return RetryDeadline(self.line, self._rng)

    # ------------------------------------------------------------ writes

    async def write(self, write: WriteInFlight, batch: WriteBatch) -> HttpResponse | Reply:
        """Send a write; return the server's response, or the reply if there is no response."""
        backoff, gate = Backoff(self.options, self._rng), self._gates[write.purpose]
        maybe, may_send = "", self._fence_of(write.purpose, batch)
        while True:
            if not may_send():
                return self._without(write, maybe, "this process does not lead")
            retry_after = None
            try:
                async with gate as entered:
                    if batch.gone is not None:
                        return self._without(write, maybe, batch.gone)
                    answer = await self._exchanged(write, may_send)
                if not _is_for_now(answer):
                    gate.answered()
                    if maybe and answer.status in _OF_THE_CALLER:
                        return unknown_reply(write.what, maybe)
                    return answer
                why, retry_after = status_of(answer).message, answer.retry_after
                if answer.status == 429:
                    gate.hold(min(retry_after or 0.0, self.options.longest_wait), entered)
                else:
                    maybe = why
            except NotSentError as error:
                why = str(error)
                answer = None
            except LostError as error:
                why = maybe = str(error)
                answer = None
            except StrettoError as error:  # an unusable certificate or token
                batch.gone = str(error)
                continue
            pause = backoff.next(retry_after)
            if not batch.may_wait(pause, gate.answered_at):
                batch.gone = why  # the server refuses everything of this purpose
            if (maybe and not write.repeatable) or not batch.may_wait(pause):
                return self._given_up(write, maybe, answer, why)
            await asyncio.sleep(pause)

    async def _exchanged(self, write: WriteInFlight, may_send: Callable[[], bool]) -> HttpResponse:
        """Send a write and count it until its outcome is known."""
        counts = write.purpose not in UNFENCED
        self.under_way += counts
        try:
            return await self.line.exchange(write.request, may_send)
        finally:
            self.under_way -= counts

    def _fence_of(self, purpose: RequestPurpose, batch: WriteBatch) -> Callable[[], bool]:
        """Return whether a write of a purpose may be sent now.

        The line calls it again when the write reaches the head of the queue.
        """
        if purpose in UNFENCED:
            return lambda: True
        return lambda: self._leaderships == batch.leadership and self.may_write()

    def _given_up(
        self, write: WriteInFlight, maybe: str, answer: HttpResponse | None, why: str
    ) -> Reply:
        """The reply to a write that is not retried."""
        if maybe or answer is None:
            return self._without(write, maybe, why)
        return refused_reply(answer, write.what)

    def _without(self, write: WriteInFlight, maybe: str, why: str) -> Reply:
        return unknown_reply(write.what, maybe) if maybe else unsent_reply(write.what, why)

    # ------------------------------------------------------------ batches

    async def all(
        self,
        items: Sequence[T],
        purpose: RequestPurpose,
        key: Callable[[T], Hashable],
        send: Callable[[T, WriteBatch], Awaitable[Reply]],
    ) -> Replies:
        """Send a batch, as many items at once as its gate admits; reply in its order.

        Items with the same key (the same object) are sent one after another. A batch that follows
        another begins once the earlier one has fewer unsent items than the width of the gate.
        """
        batch, places = (
            WriteBatch(self.options.write_timeout, self._leaderships),
            self._places[purpose],
        )
        chains: dict[Hashable, list[int]] = {}
        for index, item in enumerate(items):
            chains.setdefault(key(item), []).append(index)
        replies: dict[int, Reply] = {}
        waiting = deque(chains.values())

        async def work() -> None:
            while waiting:
                for index in waiting.popleft():
                    replies[index] = await send(items[index], batch)

        workers: list[asyncio.Task[None]] = []
        try:
            while waiting and len(workers) < min(WIDTH[purpose], len(chains)):
                await places.acquire()
                workers.append(worker := asyncio.create_task(work()))
                worker.add_done_callback(lambda _: places.release())
            await asyncio.gather(*workers)
        except BaseException:
            for worker in workers:
                worker.cancel()
            raise
        return [replies[index] for index in range(len(items))]


def _is_for_now(answer: HttpResponse) -> bool:
    """Return whether an answer is temporary: load, or an internal failure."""
    if answer.status == 429:
        return not status_of(answer).names(_BUDGET)
    return answer.status >= 500
