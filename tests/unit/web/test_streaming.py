"""Streams over HTTP: rounds that send the same bytes to all streams, and what tasks still do."""

import asyncio
from collections.abc import Sequence
from typing import Any

from stretto.base.errors import StrettoError
from stretto.serving.chunks import chunk
from stretto.web.api.message import ApiStream
from stretto.web.api.webhooks.reviews import ReviewMemory
from stretto.web.barrier import NO_BARRIER, Barrier
from stretto.web.streaming import HttpStreams


class Source:
    """Events of streams that a test states; each stream receives all later ones."""

    def __init__(self) -> None:
        self.wakes: list[Any] = []
        self.due: list[list[Any]] = []

    def stream(self) -> ApiStream:
        """A stream of the events from now on."""
        mine: list[Any] = []
        self.due.append(mine)

        def poll() -> Sequence[bytes] | None:
            found = mine.pop(0) if mine else []
            if isinstance(found, Exception):
                raise found
            return found

        return ApiStream(
            200, "text/plain", poll, self.wakes.append, lambda: None, is_due=lambda: False
        )

    def emit(self, *events: Any) -> None:
        """Give the n-th event to the n-th stream, and wake all streams."""
        for mine, event in zip(self.due, events, strict=True):
            mine.append(event)
        wakes, self.wakes[:] = list(self.wakes), []
        for wake in wakes:
            wake()


class Client:
    """A client of one stream, and the connection to it."""

    def __init__(self) -> None:
        self.is_ready = True
        #: Chunks that were written directly.
        self.direct: list[bytes] = []
        #: Bodies that the task has sent.
        self.sent: list[bytes] = []

    def write(self, pieces: Sequence[bytes]) -> bool:
        """Receive the pieces of a chunk."""
        self.direct += pieces
        return self.is_ready

    def on_shutdown(self, call: Any) -> None:
        """Do nothing: the server of a test does not stop."""

    async def send(self, message: Any) -> None:
        """Receive a message of the task."""
        self.sent += [each for each in (message.get("body"),) if each]

    async def receive(self) -> dict[str, Any]:
        """Stay connected."""
        await asyncio.Event().wait()
        return {}


def received(
    clients: Sequence[Client], *events: Any, barrier: Barrier = NO_BARRIER
) -> list[BaseException | None]:
    """Send one event to each client; returns the errors of their tasks."""

    async def unanswered(_: Any) -> Any:
        """Answer no webhook."""

    async def run() -> list[BaseException | None]:
        source, streams = Source(), HttpStreams(barrier, unanswered)
        tasks = [
            asyncio.ensure_future(
                streams.serve(source.stream(), ReviewMemory(), each.receive, each.send, each)
            )
            for each in clients
        ]
        await _turns()
        source.emit(*events)
        await _turns()
        errors = [each.exception() if each.done() else None for each in tasks]
        for each in tasks:
            each.cancel()
        return errors

    return asyncio.run(run())


async def _turns() -> None:
    """Let the event loop run what is due."""
    for _ in range(10):
        await asyncio.sleep(0)


class LostWrites:
    """A barrier whose writes are lost."""

    async def settled(self) -> None:
        """Report the loss."""
        self.settle()

    def settle(self) -> None:
        """Report the loss."""
        raise StrettoError("lost")


def test_an_event_reaches_a_stream_that_waits_as_a_chunk() -> None:
    client = Client()
    received([client], [b"a", b"b"])
    assert (client.direct, client.sent) == ([b"2\r\nab\r\n"], [])


def test_streams_with_the_same_events_share_their_chunk() -> None:
    one, other = Client(), Client()
    lines = b"same"
    received([one, other], [lines], [lines])
    assert one.direct[0] is other.direct[0]


def test_streams_with_other_events_receive_their_own() -> None:
    one, other = Client(), Client()
    received([one, other], [b"one"], [b"other"])
    assert (one.direct, other.direct) == ([chunk(b"one")], [chunk(b"other")])


def test_a_large_chunk_is_written_in_pieces() -> None:
    client, event = Client(), bytes(100_000)
    received([client], [event])
    assert len(client.direct) > 1
    assert b"".join(client.direct) == chunk(event)


def test_the_task_sends_to_a_client_that_is_slow() -> None:
    client = Client()
    client.is_ready = False
    received([client], [b"late"])
    assert (client.direct, client.sent) == ([], [b"late"])


def test_a_stream_that_ends_in_a_round_ends_its_response() -> None:
    client = Client()
    assert received([client], None) == [None]
    assert client.direct == []


def test_an_error_of_one_stream_leaves_the_others_of_the_round() -> None:
    one, other = Client(), Client()
    errors = received([one, other], ValueError("broken"), [b"event"])
    assert (str(errors[0]), errors[1], other.direct) == ("broken", None, [chunk(b"event")])


def test_writes_that_may_be_lost_are_not_sent() -> None:
    client = Client()
    received([client], [b"event"], barrier=LostWrites())
    assert (client.direct, client.sent) == ([], [])
