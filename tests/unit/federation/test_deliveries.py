"""Writes to members are sent once, and a member that does not answer delays only itself."""

from concurrent.futures import Future

import msgspec
import pytest

from stretto.api.types.federation.objects import PropagationStatus as Status
from stretto.api.wire.kinds import CONFIG_MAP, Kind
from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.federation.controllers.keys import FederatedKey
from stretto.federation.controllers.propagation.deliveries import (
    Delivery,
    DeliveryPlace,
    MemberDeliveries,
)
from stretto.reconcile.cache import StoreCache
from stretto.stores.capabilities import EMBEDDED, Capabilities
from stretto.stores.embedded.memory import MemoryStore
from stretto.stores.later_lists import LaterLists, NotListedError
from stretto.stores.store import EVERYTHING, Listing, ListOptions, Replies, Write, WriteVerb
from stretto.stores.wrapper import StoreWrapper

KEY = FederatedKey("configmaps", "team", "conf-configmaps")
EAST = DeliveryPlace("east", KEY)
BODY = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"namespace": "team", "name": "conf"},
}
CREATION = Delivery(
    Write(WriteVerb.CREATE, CONFIG_MAP, (msgspec.json.encode(BODY),)),
    "create ConfigMap conf",
    Status.PENDING_CREATE,
    Status.OK,
    Status.CREATION_FAILED,
    "correct it",
)


class SlowStore(StoreWrapper):
    """Answers writes and lists when a test says so."""

    def __init__(self) -> None:
        self.inner = MemoryStore(ManualClock(0.0), Rng(0))
        super().__init__(self.inner)
        self.waiting: list[tuple[Future[Replies], Write]] = []
        self.lists: list[Future[Listing]] = []

    @property
    def capabilities(self) -> Capabilities:
        return msgspec.structs.replace(EMBEDDED, answers_later=True)

    def begin(self, write: Write) -> Future[Replies]:
        self.waiting.append((Future(), write))
        return self.waiting[-1][0]

    def begin_list(self, kind: Kind, selection: ListOptions = EVERYTHING) -> Future[Listing]:
        self.lists.append(Future())
        return self.lists[-1]

    def answer(self) -> None:
        future, write = self.waiting.pop(0)
        future.set_result(self.inner.begin(write).result())


@pytest.fixture
def store() -> SlowStore:
    return SlowStore()


@pytest.fixture
def east(store: SlowStore) -> StoreCache:
    cache = StoreCache("east", store, lambda _: None)
    cache.follow(CONFIG_MAP)
    cache.poll(0.0)
    return cache


def test_a_write_in_flight_is_announced_when_its_answer_arrives(
    store: SlowStore, east: StoreCache
) -> None:
    announced: list[FederatedKey] = []
    deliveries = MemberDeliveries(announced.append)
    assert deliveries.send(EAST, east, CREATION, 3.0).status is Status.PENDING_CREATE
    assert (deliveries.meanwhile(EAST), deliveries.since(KEY, ["east"])) == (
        Status.PENDING_CREATE,
        3.0,
    )
    store.answer()
    answer = deliveries.answer(EAST, east)
    assert announced == [KEY]
    assert answer is not None
    assert answer.status is Status.OK
    assert deliveries.in_flight("east") == 0


def test_the_cache_shows_a_write_before_the_watch_reports_it(
    store: SlowStore, east: StoreCache
) -> None:
    deliveries = MemberDeliveries(lambda _: None)
    deliveries.send(EAST, east, CREATION, 0.0)
    store.answer()
    deliveries.answer(EAST, east)
    assert east.follow(CONFIG_MAP).get("team", "conf") is not None


def test_a_member_that_does_not_answer_has_a_bounded_number_of_writes_in_flight(
    store: SlowStore, east: StoreCache
) -> None:
    deliveries = MemberDeliveries(lambda _: None, most=1)
    deliveries.send(EAST, east, CREATION, 0.0)
    other = DeliveryPlace("east", KEY._replace(name="other"))
    assert deliveries.send(other, east, CREATION, 0.0).status is Status.PENDING_CREATE
    assert len(store.waiting) == 1
    west = StoreCache("west", SlowStore(), lambda _: None)
    deliveries.send(DeliveryPlace("west", KEY), west, CREATION, 0.0)
    assert deliveries.in_flight("west") == 1


def test_a_refusal_states_what_was_written_and_the_fix(store: SlowStore, east: StoreCache) -> None:
    deliveries = MemberDeliveries(lambda _: None)
    deliveries.send(EAST, east, CREATION, 0.0)
    store.waiting[0][0].set_exception(OSError("connection reset"))
    answer = deliveries.answer(EAST, east)
    assert answer is not None
    assert answer.status is Status.CREATION_FAILED
    text = "create ConfigMap conf: connection reset; it is repeated once the cluster answers"
    assert answer.problem == text


def test_an_object_of_the_same_name_is_reported_and_not_overwritten(
    store: SlowStore, east: StoreCache
) -> None:
    store.inner.create(CONFIG_MAP, CREATION.write.items)  # type: ignore[arg-type]
    deliveries = MemberDeliveries(lambda _: None)
    deliveries.send(EAST, east, CREATION, 0.0)
    store.answer()
    answer = deliveries.answer(EAST, east)
    assert answer is not None
    assert answer.status is Status.ALREADY_EXISTS


def test_a_list_is_begun_once_and_read_when_it_has_arrived(store: SlowStore) -> None:
    later, marked = LaterLists(store), list[Kind]()
    later.subscribe(marked.append)
    for _ in range(2):
        with pytest.raises(NotListedError, match="configmaps are not listed yet"):
            later.list(CONFIG_MAP)
    store.lists[0].set_result(store.inner.list(CONFIG_MAP))
    assert marked == [CONFIG_MAP]
    assert later.list(CONFIG_MAP).records == []
    assert len(store.lists) == 1


def test_a_kind_that_is_not_listed_yet_does_not_delay_the_other_kinds(store: SlowStore) -> None:
    cache = StoreCache("east", LaterLists(store), lambda _: None)
    cache.follow(CONFIG_MAP)
    cache.poll(0.0)
    with pytest.raises(NotListedError):
        cache.follow_synced(CONFIG_MAP)
    store.lists[0].set_result(store.inner.list(CONFIG_MAP))
    cache.poll(1.0)
    assert len(cache.follow_synced(CONFIG_MAP)) == 0


def test_an_answer_about_an_object_that_is_gone_frees_its_place(
    store: SlowStore, east: StoreCache
) -> None:
    deliveries = MemberDeliveries(lambda _: None)
    deliveries.send(EAST, east, CREATION, 0.0)
    deliveries.discard(EAST)
    assert deliveries.in_flight("east") == 1
    store.answer()
    deliveries.discard(EAST)
    assert deliveries.in_flight("east") == 0
