"""Encoding of events on a stream."""

from stretto.offers.master.api.forms import json_form
from stretto.offers.master.state.outbox import ClientStream
from stretto.offers.messages import binary, text
from stretto.offers.messages.records import frame
from stretto.offers.messages.schema import Message


def event_value(stream: ClientStream, event: Message) -> Message:
    """An event in the format that the client of a stream reads."""
    return event if stream.protobuf else json_form(stream.kind.value, event)


def event_record(stream: ClientStream, event: Message) -> bytes:
    """An event as one record of a stream."""
    if stream.protobuf:
        return frame(binary.write(stream.kind.value, event))
    return frame(text.write(event_value(stream, event)))
