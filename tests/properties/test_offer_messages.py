"""Messages of Mesos in their usual form are decoded as the reader of all forms reads them."""

from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.offers.messages import text, typed
from stretto.offers.messages.schema import Field, Label, message_type, schema
from stretto.offers.messages.text import MessageError

NAMES = (
    "scheduler.Call",
    "operator.Call",
    "agent.RegisterSlaveMessage",
    "agent.StatusUpdateMessage",
)
USUAL = {"string": "a/b", "bytes": "QUJD", "bool": True, "double": 0.5, "float": 2.0}
DEEPEST = 4
ODD: tuple[Any, ...] = (None, 7, 7.0, 0.5, -1, "x", "7", "true", "", "QQ", "QR==", [], [None], {})


def value(draw: Random, field: Field, depth: int, oddness: float) -> Any:
    """A value of a field, sometimes an odd one."""
    if draw.random() < oddness:
        return draw.choice(ODD)
    if field.type in schema().messages:
        return message(draw, field.type, depth + 1, oddness)
    names = schema().enums.get(field.type)
    return draw.choice(list(names)) if names else USUAL.get(field.type, 3)


def message(draw: Random, name: str, depth: int, oddness: float) -> dict[str, Any]:
    """A random message; its required fields are usually present."""
    found: dict[str, Any] = {"unknown": 1} if draw.random() < oddness else {}
    for field in message_type(name).fields.values():
        optional = 3 / len(message_type(name).fields) if depth < DEEPEST else 0.0
        if draw.random() >= (1 - oddness if field.label is Label.REQUIRED else optional):
            continue
        values = [value(draw, field, depth, oddness) for _ in range(draw.randint(1, 2))]
        single = {"k": values[0]} if field.label is Label.MAP else values[0]
        found[field.name] = values if field.label is Label.REPEATED else single
    return found


def fully_read(name: str, body: bytes) -> object:
    """The message, or the text of the error."""
    try:
        return text.read(name, text.parse(body))
    except MessageError as error:
        return str(error)


@given(
    name=st.sampled_from(NAMES), seed=st.integers(0, 1 << 32), oddness=st.sampled_from((0, 0.02))
)
def test_the_fast_decoder_equals_the_reader_of_all_forms(
    name: str, seed: int, oddness: float
) -> None:
    body = msgspec.json.encode(message(Random(seed), name, 0, oddness))
    fast = typed.decode(name, body)
    assert fast is None or fast == fully_read(name, body)


@pytest.mark.parametrize("name", NAMES)
def test_a_message_in_its_usual_form_takes_the_fast_path(name: str) -> None:
    drawn = [msgspec.json.encode(message(Random(seed), name, 0, 0)) for seed in range(20)]
    assert sum(typed.decode(name, body) is not None for body in drawn) > 10
