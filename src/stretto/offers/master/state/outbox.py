"""Unsent results of a step of the master: events on streams, and messages to agents."""

from collections.abc import Iterator
from enum import Enum
from typing import TypeAlias

import msgspec

from stretto.offers.messages.schema import Message


class EventKind(Enum):
    """Kinds of events on a stream."""

    #: Events of a framework.
    SCHEDULER = "scheduler.Event"
    #: Events of an operator.
    OPERATOR = "operator.Event"
    #: Events of an executor.
    EXECUTOR = "executor.Event"


class ClientStream(msgspec.Struct, frozen=True):
    """An open answer to SUBSCRIBE."""

    #: Unique id; frameworks send it as Mesos-Stream-Id.
    id: str
    #: Kind of its events.
    kind: EventKind
    #: True if records are protobuf; otherwise JSON.
    protobuf: bool = False


class StreamEvent(msgspec.Struct, frozen=True):
    """An event on a stream."""

    #: The stream.
    stream: ClientStream
    #: The Event message.
    event: Message


class StreamEnd(msgspec.Struct, frozen=True):
    """Command to close a stream."""

    #: The stream.
    stream: ClientStream


class AgentMessage(msgspec.Struct, frozen=True):
    """A message to an agent."""

    #: Address of the agent, such as ``slave(1)@10.0.0.1:5051``.
    pid: str
    #: Name of the message, such as ``RunTaskMessage``.
    name: str
    #: The message.
    message: Message


Effect: TypeAlias = StreamEvent | StreamEnd | AgentMessage
"""One effect to send."""


class Outbox:
    """Effects in their order of sending."""

    def __init__(self) -> None:
        self._effects: list[Effect] = []

    def event(self, stream: ClientStream, event: Message) -> None:
        """Send an event."""
        self._effects.append(StreamEvent(stream, event))

    def end(self, stream: ClientStream) -> None:
        """Close a stream after its events."""
        self._effects.append(StreamEnd(stream))

    def agent(self, pid: str, name: str, message: Message) -> None:
        """Send a message to an agent."""
        self._effects.append(AgentMessage(pid, name, message))

    def drain(self) -> Iterator[Effect]:
        """Take all effects."""
        effects, self._effects = self._effects, []
        yield from effects
