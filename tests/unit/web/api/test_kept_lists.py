"""Lists that admission reads at each write: kept until an object of their kind changes."""

import msgspec
import pytest

from stretto.api.wire.kinds import CONFIG_MAP, POD
from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.stores.embedded.memory import MemoryStore
from stretto.stores.generation import first_generation
from stretto.stores.store import Deletion, Record
from stretto.web.api.objects.views import RecordViews
from stretto.web.api.storage import ObjectStorage


@pytest.fixture
def storage() -> ObjectStorage:
    return ObjectStorage(MemoryStore(ManualClock(), Rng(1)))


def body(name: str, namespace: str = "default") -> bytes:
    return msgspec.json.encode({"metadata": {"name": name, "namespace": namespace}})


def names(storage: ObjectStorage, namespace: str = "") -> list[str]:
    return [each["metadata"]["name"] for each in storage.views_of(CONFIG_MAP, namespace)]


def test_a_kept_list_shows_later_changes(storage: ObjectStorage) -> None:
    assert names(storage) == []
    storage.store.create(CONFIG_MAP, [body("a"), body("b", "other")])
    assert (names(storage), names(storage, "default")) == (["a", "b"], ["a"])
    storage.store.delete(CONFIG_MAP, [Deletion("default", "a")])
    assert (names(storage), names(storage, "default")) == (["b"], [])


def test_a_list_is_made_once_while_its_kind_stays_the_same(storage: ObjectStorage) -> None:
    storage.store.create(CONFIG_MAP, [body("a")])
    before = storage.views_of(CONFIG_MAP)
    storage.store.create(POD, [body("p")])
    assert storage.views_of(CONFIG_MAP) is before


def test_a_long_list_is_not_kept(storage: ObjectStorage) -> None:
    storage.store.create(CONFIG_MAP, [body(f"m{number}") for number in range(257)])
    assert storage.views_of(CONFIG_MAP) is not storage.views_of(CONFIG_MAP)


@pytest.mark.parametrize("fields", ['"generation":7', '"generation":1,"x":{"generation":7}'])
def test_only_the_generation_of_the_metadata_counts(fields: str) -> None:
    given = f'{{"metadata":{{"name":"a",{fields}}},"spec":{{}}}}'.encode()
    found = msgspec.json.decode(first_generation(POD, given))["metadata"]["generation"]
    assert found == 1


def test_new_objects_are_kept_once_a_watch_has_requested_one_of_their_kind() -> None:
    views, record = RecordViews(), Record(CONFIG_MAP, "default", "a", "u", 1, b"{}")
    views.keep_new(record, CONFIG_MAP, {"kept": True})
    assert views.new(record, CONFIG_MAP) is None
    views.keep_new(record, CONFIG_MAP, {"kept": True})
    assert views.new(record, CONFIG_MAP) == {"kept": True}
