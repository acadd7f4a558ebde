"""Requests with patience: tried again where that is safe, answered for what they are where not.

A request that nobody has seen, or that the server has turned away for now (429), may always be
sent again. One whose answer is lost may only where doing it twice is the same as once; else its
outcome is *unknown*. A purpose has one budget of patience: when the server is gone, or turns
everything away, the rest of a batch is not sent at all, so that nobody waits for each of a thousand
pods.
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
"""The cause of a 429 that is a budget's word, and no sign of load."""
_OF_THE_CALLER: Final = (401, 403)
"""Answers that say who may not ask, and nothing of an earlier try that may have been done."""


class WriteBatch:
    """One write call: how long it may still be patient, and whether it has given up."""

    def __init__(self, patience: float, reign: int = 0) -> None:
        #: How often whoever decides what is written had gone when it began.
        self.reign = reign
        self._patience = patience
        self._began = asyncio.get_running_loop().time()
        #: Why nothing more is sent; ``None`` while the server answers.
        self.gone: str | None = None

    def may_wait(self, seconds: float, since: float = float("-inf")) -> bool:
        """Whether there is patience for another try after a wait.

        Args:
            seconds: the wait.
            since: when patience began anew, by the loop's clock, if that was later.
        """
        now = asyncio.get_running_loop().time()
        return now + seconds < max(self._began, since) + self._patience


class RetryDeadline:
    """One read: how long it is tried again, and with which waits."""

    def __init__(self, line: HttpClient, rng: Rng) -> None:
        self._line = line
        self._batch = WriteBatch(line.options.read_patience)
        self._backoff = Backoff(line.options, rng)

    async def wait(self, why: str, asked: float | None) -> None:
        """Wait before another try, as long as the server asks for at least.

        Raises:
            UnreachableError: there is no patience left for one.
        """
        pause = self._backoff.next(asked)
        if not self._batch.may_wait(pause):
            server = (await self._line.login()).server
            raise UnreachableError(server, why, "try again when it answers")
        await asyncio.sleep(pause)


class WriteInFlight(msgspec.Struct, frozen=True):
    """One write on its way."""

    #: Its purpose.
    purpose: RequestPurpose
    #: The request.
    request: HttpRequest
    #: In words, with verb and resource, such as ``create pods/binding``.
    what: str
    #: Doing it twice is the same as once, so a lost answer may be asked for again.
    repeatable: bool = False


class RequestSender:
    """Sends requests through the lanes of one line."""

    def __init__(self, line: HttpClient, rng: Rng) -> None:
        #: The connections.
        self.line = line
        self._rng = rng
        self._gates = {purpose: RequestGate(width) for purpose, width in WIDTH.items()}
        #: Places for batches: one begins as the one before it has no more to send.
        self._places = {purpose: asyncio.Semaphore(width) for purpose, width in WIDTH.items()}
        #: Whether writes may be begun now, leases and reviews aside: only a leader's may.
        self.may_write: Callable[[], bool] = lambda: True
        #: Writes that have been sent and not been answered, leases and reviews aside.
        self.under_way = 0
        #: How often whoever decided what is to be written has gone.
        self._reigns = 0

    async def abandon(self) -> None:
        """Send nothing more of the batches that have begun: who wanted them has gone."""
        self._reigns += 1

    @property
    def options(self) -> KubeOptions:
        """How patient it is."""
        return self.line.options

    # ------------------------------------------------------------ reads

    async def read(self, path: str, purpose: RequestPurpose = RequestPurpose.READ) -> HttpResponse:
        """An answer to a GET that is no sign of load or failure; a 4xx is an answer.

        Raises:
            UnreachableError: there was none within the patience.
        """
        patience, gate = self.patience(), self._gates[purpose]
        while True:
            asked = None
            try:
                async with gate:
                    answer = await self.line.exchange(HttpRequest("GET", path))
                if answer.status != 429 and answer.status < 500:
                    return answer
                why, asked = status_of(answer).message, answer.retry_after
            except (NotSentError, LostError) as error:
                why = str(error)
            await patience.wait(why, asked)

    def patience(self) -> RetryDeadline:
        """The patience for a read that begins now."""
        return RetryDeadline(self.line, self._rng)

    # ------------------------------------------------------------ writes

    async def write(self, write: WriteInFlight, batch: WriteBatch) -> HttpResponse | Reply:
        """The server's answer to a write, or the reply where there is none to be had."""
        backoff, gate = Backoff(self.options, self._rng), self._gates[write.purpose]
        maybe, may_send = "", self._fence_of(write.purpose, batch)
        while True:
            if not may_send():
                return self._without(write, maybe, "we do not lead")
            asked = None
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
                why, asked = status_of(answer).message, answer.retry_after
                if answer.status == 429:
                    gate.hold(min(asked or 0.0, self.options.longest_wait), entered)
                else:
                    maybe = why
            except NotSentError as error:
                why = str(error)
                answer = None
            except LostError as error:
                why = maybe = str(error)
                answer = None
            except StrettoError as error:  # a certificate or a token that cannot be used
                batch.gone = str(error)
                continue
            pause = backoff.next(asked)
            if not batch.may_wait(pause, gate.answered_at):
                batch.gone = why  # it has had time for nobody in this purpose
            if (maybe and not write.repeatable) or not batch.may_wait(pause):
                return self._given_up(write, maybe, answer, why)
            await asyncio.sleep(pause)

    async def _exchanged(self, write: WriteInFlight, may_send: Callable[[], bool]) -> HttpResponse:
        """Send a write, and have it counted while nobody knows what becomes of it."""
        counts = write.purpose not in UNFENCED
        self.under_way += counts
        try:
            return await self.line.exchange(write.request, may_send)
        finally:
            self.under_way -= counts

    def _fence_of(self, purpose: RequestPurpose, batch: WriteBatch) -> Callable[[], bool]:
        """Whether a write of a purpose may be sent now; asked again once its turn has come."""
        if purpose in UNFENCED:
            return lambda: True
        return lambda: self._reigns == batch.reign and self.may_write()

    def _given_up(
        self, write: WriteInFlight, maybe: str, answer: HttpResponse | None, why: str
    ) -> Reply:
        """The reply to a write that is not tried again."""
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
        """Send a batch, side by side as wide as its purpose, and answer it in its order.

        Items with the same key (the same object) go one after the other, in their order. A batch
        that is sent behind another begins as that one has fewer left than the purpose is wide.
        """
        batch, places = WriteBatch(self.options.write_patience, self._reigns), self._places[purpose]
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
    """Whether an answer says nothing but "not now": load, or a failure inside."""
    if answer.status == 429:
        return not status_of(answer).names(_BUDGET)
    return answer.status >= 500
