"""Shards of objects: every object is in exactly one, and their union is the whole."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from stretto.api.wire.kinds import CONFIG_MAP
from stretto.api.wire.shards import ObjectShard, ShardHash
from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.stores.embedded.memory import MemoryStore
from stretto.stores.store import ListOptions

NAMES = st.text("abcdefg", min_size=1, max_size=4)
OBJECTS = st.dictionaries(
    st.tuples(NAMES, NAMES), st.none() | st.dictionaries(st.sampled_from("xy"), NAMES), max_size=20
)
COUNTS, LABELS = st.integers(1, 7), st.sampled_from(["", "x", "absent"])


@given(OBJECTS, COUNTS, LABELS, st.sampled_from(ShardHash))
def test_the_lists_of_all_shards_are_a_division_of_the_whole_list(
    objects: dict[tuple[str, str], dict[str, str] | None],
    count: int,
    label: str,
    function: ShardHash,
) -> None:
    store = MemoryStore(ManualClock(), Rng(1))
    metadata = [
        {"namespace": space, "name": name, "labels": labels}
        for (space, name), labels in objects.items()
    ]
    store.create(CONFIG_MAP, [msgspec.json.encode({"metadata": each}) for each in metadata])
    shards = [ObjectShard(count, index, label, function) for index in range(count)]
    lists = [store.list(CONFIG_MAP, ListOptions(shard=each)).records for each in shards]
    found = [record.uid for records in lists for record in records]
    assert sorted(found) == sorted(each.uid for each in store.list(CONFIG_MAP).records)


@given(st.tuples(NAMES, NAMES), NAMES, COUNTS, LABELS, st.sampled_from(ShardHash))
def test_a_stored_object_and_its_labels_lead_to_the_same_shard(
    place: tuple[str, str], value: str, count: int, label: str, function: ShardHash
) -> None:
    labels = {"x": value}
    body = msgspec.json.encode({"metadata": {"labels": labels}})
    for index in range(count):
        shard = ObjectShard(count, index, label, function)
        assert shard.holds(*place, body) == shard.holds_labels(*place, labels)
