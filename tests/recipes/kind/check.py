"""An object of the new kind makes a round trip through the memory store."""

import msgspec
import pytest

from stretto.api import codec
from stretto.api.types.light import Light, LightSpec
from stretto.api.wire.kinds import LIGHT, kind_named
from stretto.api.wire.meta import ObjectMeta
from stretto.base.clock import ManualClock
from stretto.base.errors import InputError
from stretto.base.rng import Rng
from stretto.stores.embedded.memory import MemoryStore

assert kind_named("lights") is LIGHT
store = MemoryStore(ManualClock(), Rng(0))
body = codec.encode(Light(metadata=ObjectMeta(name="a", namespace="b"), spec=LightSpec(40)))
unknown = {**msgspec.json.decode(body), "later": 1}
(reply,) = store.create(LIGHT, [msgspec.json.encode(unknown)])
record = store.get(LIGHT, "b", "a")
assert record is not None, reply
assert codec.decode_as(Light, record.body).spec == LightSpec(40)
assert msgspec.json.decode(record.body)["later"] == 1
wrong = b'{"metadata":{"name":"a"},"spec":{"brightness":"x"}}'
with pytest.raises(InputError, match=r"light a: spec\.brightness"):
    codec.decode(LIGHT, wrong)
