"""Cached objects follow the store, with indexes, and publish each change."""

import json

import pytest

from stretto.api.wire.kinds import CONFIG_MAP, NODE, Kind
from stretto.base.clock import ManualClock
from stretto.base.errors import NotAllowedError
from stretto.base.rng import Rng
from stretto.reconcile.cache import REFUSED_FOR, Change, DecodedForms, StoreCache
from stretto.stores.embedded.memory import MemoryStore
from stretto.stores.store import EVERYTHING, Deletion, Listing, ListOptions, Patch
from stretto.stores.wrapper import StoreWrapper


class Seen(list[str]):
    """Changes as short texts."""

    def note(self, change: Change) -> None:
        kind = "added" if change.old is None else "gone" if change.new is None else "changed"
        self.append(f"{kind} {change.object.name[1]}")


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore(ManualClock(), Rng(1))


@pytest.fixture
def seen() -> Seen:
    return Seen()


@pytest.fixture
def cache(store: MemoryStore, seen: Seen) -> StoreCache:
    return StoreCache("host", store, seen.note)


def put(store: MemoryStore, name: str, **labels: str) -> None:
    store.create(CONFIG_MAP, [json.dumps({"metadata": {"name": name, "labels": labels}}).encode()])


def test_objects_that_exist_are_read_at_first(cache: StoreCache, store: MemoryStore) -> None:
    put(store, "a")
    assert cache.follow_synced(CONFIG_MAP).get("default", "a") is not None


def test_each_change_is_published_once(cache: StoreCache, store: MemoryStore, seen: Seen) -> None:
    cache.follow_synced(CONFIG_MAP)
    put(store, "a")
    cache.poll(0.0)
    store.patch(CONFIG_MAP, [Patch("default", "a", {"data": {"key": "1"}})])
    store.delete(CONFIG_MAP, [Deletion("default", "a")])
    cache.poll(0.0)
    assert seen == ["added a", "changed a", "gone a"]


def test_only_the_forms_decoded_last_are_kept(store: MemoryStore) -> None:
    for name in "abc":
        put(store, name)
    cache = StoreCache("host", store, lambda _: None, DecodedForms(2))
    a, b, c = sorted(cache.follow_synced(CONFIG_MAP), key=lambda each: each.name)
    forms = [each.fields for each in (a, b, c)]
    assert (b.fields is forms[1], c.fields is forms[2]) == (True, True)
    assert a.fields is not forms[0]
    assert a.fields == forms[0]


def test_an_object_keeps_its_place_in_an_index(cache: StoreCache, store: MemoryStore) -> None:
    objects = cache.follow_synced(CONFIG_MAP)
    objects.add_index("app", lambda each: [each.labels.get("app", "")])
    put(store, "a", app="x")
    put(store, "b", app="x")
    store.patch(CONFIG_MAP, [Patch("default", "a", {"data": {"key": "1"}})])
    cache.poll(0.0)
    assert [each.name[1] for each in objects.indexed("app", "x")] == ["a", "b"]


def test_a_store_without_changes_has_no_work(cache: StoreCache, store: MemoryStore) -> None:
    cache.follow_synced(CONFIG_MAP)
    cache.poll(0.0)
    before = cache.has_work
    put(store, "a")
    assert (before, cache.has_work) == (False, True)


def test_an_index_follows_changes(cache: StoreCache, store: MemoryStore) -> None:
    objects = cache.follow_synced(CONFIG_MAP)
    objects.add_index("app", lambda each: [each.labels.get("app", "")])
    put(store, "a", app="x")
    put(store, "b", app="x")
    cache.poll(0.0)
    store.patch(CONFIG_MAP, [Patch("default", "a", {"metadata": {"labels": {"app": "y"}}})])
    cache.poll(0.0)
    assert [each.name[1] for each in objects.indexed("app", "x")] == ["b"]


def test_an_index_that_comes_later_holds_earlier_objects(
    cache: StoreCache, store: MemoryStore
) -> None:
    put(store, "a", app="x")
    objects = cache.follow_synced(CONFIG_MAP)
    objects.add_index("app", lambda each: [each.labels["app"]])
    assert [each.name[1] for each in objects.indexed("app", "x")] == ["a"]


def test_an_object_that_was_replaced_by_one_of_the_same_name_is_the_new_one(
    cache: StoreCache, store: MemoryStore
) -> None:
    objects = cache.follow_synced(CONFIG_MAP)
    put(store, "a", app="old")
    store.delete(CONFIG_MAP, [Deletion("default", "a")])
    put(store, "a", app="new")
    cache.poll(0.0)
    found = objects.get("default", "a")
    assert found is not None
    assert found.labels == {"app": "new"}


def test_a_kind_that_is_no_longer_followed_counts_as_deleted(
    cache: StoreCache, store: MemoryStore, seen: Seen
) -> None:
    put(store, "a")
    cache.follow_synced(CONFIG_MAP)
    cache.unfollow(CONFIG_MAP)
    assert seen == ["added a", "gone a"]
    assert cache.kinds == ()


def in_space(space: str, name: str) -> bytes:
    return json.dumps({"metadata": {"namespace": space, "name": name}}).encode()


def test_one_namespace_of_a_kind_can_be_followed_until_all_of_it_is(
    cache: StoreCache, store: MemoryStore
) -> None:
    store.create(CONFIG_MAP, [in_space("system", "a"), in_space("other", "b")])
    cache.follow_in(CONFIG_MAP, "system")
    cache.poll(0.0)
    assert [each.name for each in cache.follow_in(CONFIG_MAP, "system")] == [("system", "a")]
    cache.follow(CONFIG_MAP)
    cache.poll(0.0)
    assert len(cache.follow(CONFIG_MAP)) == 2


class Forbidding(StoreWrapper):
    """Allows to list nothing but ConfigMaps."""

    refusals = 0

    def list(self, kind: Kind, selection: ListOptions = EVERYTHING) -> Listing:
        if kind != CONFIG_MAP:
            self.refusals += 1
            raise NotAllowedError(f"list {kind.resource}", "forbidden")
        return super().list(kind, selection)


def test_a_kind_that_may_not_be_read_does_not_stop_the_others(store: MemoryStore) -> None:
    cache = StoreCache("host", Forbidding(store), lambda _: None)
    cache.follow(NODE)
    cache.follow(CONFIG_MAP)
    put(store, "a")
    cache.poll(0.0)
    assert len(cache.follow(CONFIG_MAP)) == 1
    assert list(cache.refused) == [NODE]


def test_a_refusal_is_raised_again_without_a_read_until_it_is_due(store: MemoryStore) -> None:
    forbidding = Forbidding(store)
    cache = StoreCache("host", forbidding, lambda _: None)
    for _ in range(3):
        with pytest.raises(NotAllowedError, match="forbidden"):
            cache.follow_synced(NODE)
    assert forbidding.refusals == 1
    cache.poll(REFUSED_FOR)
    assert forbidding.refusals == 2


def test_a_kind_that_is_no_longer_followed_is_not_refused(store: MemoryStore) -> None:
    cache = StoreCache("host", Forbidding(store), lambda _: None)
    cache.follow(NODE)
    cache.poll(0.0)
    cache.unfollow(NODE)
    assert cache.refused == {}
