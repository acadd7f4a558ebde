"""Processes with different numbers of shards never lead at the same time."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.api.wire.kinds import LEASE, Kind
from stretto.base.clock import ManualClock
from stretto.base.errors import NotAllowedError
from stretto.base.rng import Rng
from stretto.stores.embedded.memory import MemoryStore
from stretto.stores.lease import LeaderElector, LeaseConfig
from stretto.stores.shards import CLEANED_EVERY, SHARDS, ShardCountGuard, shard_lease
from stretto.stores.store import Deletion, Patch, Replies
from stretto.web.api.message import ApiRequest, ApiResponse
from stretto.web.api.server import ApiServer, ApiSettings


class Shards:
    """Processes of one federation, each with a shard and a number of shards."""

    def __init__(self, *places: tuple[int, int], store: type[MemoryStore] = MemoryStore) -> None:
        self.clock = ManualClock(100.0)
        self.store = store(self.clock, Rng(1))
        self.places = places
        self.all = [self.elector(number) for number in range(len(places))]

    def elector(self, number: int) -> LeaderElector:
        shard, shards = self.places[number]
        name = shard_lease("stretto", shard, shards)
        config = LeaseConfig("system", name, f"process {number}")
        guard = ShardCountGuard(self.store, config, ("stretto", shards), self.clock)
        return LeaderElector(self.store, config, self.clock, guard)

    def run(self, seconds: float, *who: int) -> None:
        for _ in range(int(seconds * 2)):
            for number in who or range(len(self.all)):
                if self.all[number].next_due() <= self.clock.monotonic():
                    self.all[number].tick()
            self.clock.advance(0.5)

    def leaders(self) -> list[tuple[int, int]]:
        return [place for place, each in zip(self.places, self.all, strict=True) if each.leads()]


TWO, THREE = ((0, 2), (1, 2)), ((0, 3), (1, 3), (2, 3))


def test_every_shard_of_the_first_number_leads() -> None:
    shards = Shards(*TWO)
    shards.run(10)
    assert shards.leaders() == list(TWO)


def test_another_number_waits_while_one_shard_of_the_first_is_held() -> None:
    shards = Shards(*TWO, *THREE)
    shards.run(10, 0, 1)
    shards.run(60, 1, 2, 3, 4)
    assert shards.leaders() == [(1, 2)]
    assert (
        shards.all[2].trouble
        == "lease stretto-1-of-2 is held by a process of 2 shards: it is waited for"
    )


def test_another_number_leads_once_the_first_has_stopped() -> None:
    shards = Shards(*TWO, *THREE)
    shards.run(10, 0, 1)
    for each in shards.all[:2]:
        each.release()
    shards.run(20, 2, 3, 4)
    assert shards.leaders() == list(THREE)


def test_another_number_waits_for_the_end_of_the_leases_of_dead_processes() -> None:
    shards = Shards(*TWO, *THREE)
    shards.run(10, 0, 1)
    shards.run(10, 2, 3, 4)
    assert shards.leaders() == []
    shards.run(20, 2, 3, 4)
    assert shards.leaders() == list(THREE)


def test_a_process_without_shards_counts_as_a_number_too() -> None:
    shards = Shards((0, 1), *TWO)
    shards.run(10, 0)
    shards.run(60)
    assert shards.leaders() == [(0, 1)]


def test_a_process_that_resumes_after_the_change_does_not_lead() -> None:
    shards = Shards(*TWO, *THREE)
    shards.run(10, 0, 1)
    shards.run(60, 2, 3, 4)
    shards.run(10)
    assert shards.leaders() == list(THREE)


def test_a_renewal_during_the_announcement_is_waited_for() -> None:
    shards = Shards(*TWO, *THREE)
    shards.run(10, 0, 1)
    shards.run(15, 2)
    assert shards.store.get(LEASE, "system", "stretto-shards") is not None
    shards.run(2, 0)
    shards.run(6, 2)
    assert not set(shards.leaders()) & set(THREE)


@pytest.mark.parametrize("lease", ["stretto", "stretto-0", "stretto-1"])
def test_shards_wait_for_a_process_of_an_earlier_version(lease: str) -> None:
    shards = Shards(*TWO)
    old = LeaderElector(shards.store, LeaseConfig("system", lease, "old"), shards.clock)
    old.tick()
    shards.run(2)
    assert shards.leaders() == []
    old.release()
    shards.run(10)
    assert shards.leaders() == list(TWO)


def test_a_process_without_shards_takes_over_from_one_of_an_earlier_version() -> None:
    shards = Shards((0, 1))
    old = LeaderElector(shards.store, LeaseConfig("system", "stretto", "old"), shards.clock)
    old.tick()
    shards.run(2)
    old.release()
    shards.run(4)
    assert shards.leaders() == [(0, 1)]


def test_an_api_server_accepts_the_record() -> None:
    shards = Shards(*TWO)
    shards.run(2)
    record = shards.store.get(LEASE, "system", "stretto-shards")
    server = ApiServer(MemoryStore(shards.clock, Rng(2)), ApiSettings(shards.clock, Rng(3)))
    path = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
    assert record is not None
    body = record.body.replace(b'"system"', b'"default"')
    answer = server.handle(ApiRequest("POST", path, {"content-type": "application/json"}, body))
    assert (isinstance(answer, ApiResponse), answer.status) == (True, 201)


def names(shards: Shards) -> set[str]:
    """Names of all Leases."""
    return {each.name for each in shards.store.list(LEASE).records}


RECORD = "stretto-shards"
OF_TWO, OF_THREE = (
    {shard_lease("stretto", shard, count) for shard, count in places} for places in (TWO, THREE)
)


def test_the_leases_of_a_former_number_are_deleted_once_the_new_one_leads() -> None:
    shards = Shards(*TWO, *THREE)
    shards.run(10, 0, 1)
    for each in shards.all[:2]:
        each.release()
    shards.run(10, 3, 4)
    assert names(shards) > OF_TWO
    shards.run(10, 2, 3, 4)
    assert names(shards) == {RECORD, *OF_THREE}


def test_the_expired_leases_of_dead_processes_are_deleted() -> None:
    shards = Shards(*TWO, *THREE)
    shards.run(10, 0, 1)
    shards.run(40, 2, 3, 4)
    assert names(shards) == {RECORD, *OF_THREE}


def test_the_lease_of_a_process_without_shards_is_deleted_and_comes_back() -> None:
    shards = Shards((0, 1), *TWO)
    shards.run(10, 0)
    shards.run(40, 1, 2)
    assert names(shards) == {RECORD, *OF_TWO}
    shards.run(40, 0)
    assert names(shards) == {RECORD, "stretto"}


def test_a_held_lease_of_a_former_number_stays_until_it_expires() -> None:
    shards = Shards(*TWO)
    config = LeaseConfig("system", "stretto-4-of-5", "late")
    shards.run(CLEANED_EVERY - 5)
    LeaderElector(shards.store, config, shards.clock).tick()
    shards.run(10)
    assert config.name in names(shards)
    shards.run(CLEANED_EVERY)
    assert config.name not in names(shards)


def test_a_released_lease_of_the_present_number_stays() -> None:
    shards = Shards(*TWO)
    shards.run(2)
    shards.all[1].release()
    shards.run(2 * CLEANED_EVERY, 0)
    assert names(shards) == {RECORD, *OF_TWO}


@pytest.mark.parametrize("name", ["other-0-of-3", "stretto-sync-0-of-3", "stretto-0-of-3-x"])
def test_the_leases_of_other_federations_stay(name: str) -> None:
    shards = Shards(*TWO)
    create(shards, name, "{}")
    shards.run(2 * CLEANED_EVERY)
    assert name in names(shards)


def test_a_lease_that_is_acquired_during_the_deletion_stays() -> None:
    shards = Shards(*TWO)
    create(shards, "stretto-0-of-3", "{}")
    first = shards.store.list(LEASE)
    spec = {"spec": {"holderIdentity": "another"}}
    shards.store.patch(LEASE, [Patch("system", "stretto-0-of-3", spec)])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shards.store, "list", lambda *_: first)
        shards.run(2)
    assert "stretto-0-of-3" in names(shards)


class Refusing(MemoryStore):
    """A store that does not permit deletions."""

    def delete(self, kind: Kind, deletions: Sequence[Deletion]) -> Replies:
        raise NotAllowedError("delete leases", "no right")


def test_a_leader_without_the_right_to_delete_leads_and_reports_it() -> None:
    shards = Shards(*TWO, store=Refusing)
    create(shards, "stretto-0-of-3", "{}")
    shards.run(2)
    assert shards.leaders() == list(TWO)
    assert "leases stretto-… of former numbers of shards stay" in shards.all[0].trouble


def create(shards: Shards, name: str, spec: str, notes: str = "{}") -> None:
    """Create a Lease, which may be malformed."""
    metadata = f'{{"namespace": "system", "name": "{name}", "annotations": {notes}}}'
    kind = '"apiVersion": "coordination.k8s.io/v1", "kind": "Lease"'
    shards.store.create(LEASE, [f'{{{kind}, "metadata": {metadata}, "spec": {spec}}}'.encode()])


UNUSUAL = [
    '{"holderIdentity": 7}',
    '{"holderIdentity": "gone", "leaseDurationSeconds": "long"}',
    '{"holderIdentity": "gone"}',
]
"""A malformed Lease, another one, and one without a duration and a renewal."""


@pytest.mark.parametrize("spec", UNUSUAL)
@pytest.mark.parametrize("name", ["stretto-1", "stretto-0-of-2"])
def test_no_lease_is_held_forever(name: str, spec: str) -> None:
    shards = Shards(*TWO)
    create(shards, name, spec)
    shards.run(10)
    assert (0, 2) not in shards.leaders()
    shards.run(10)
    assert shards.leaders() == list(TWO)


def test_a_malformed_lease_is_reported_with_the_end_of_the_wait() -> None:
    shards = Shards(*TWO)
    create(shards, "stretto-0", UNUSUAL[0])
    shards.run(2)
    assert "Lease system/stretto-0 is malformed" in shards.all[1].trouble
    assert "it is free after 15 s without a change" in shards.all[1].trouble


@pytest.mark.parametrize("number", ["", "two", "0", "2>x"])
def test_a_malformed_record_is_replaced_once_no_other_number_is_held(number: str) -> None:
    shards = Shards(*TWO, *THREE)
    shards.run(10, 0, 1)
    note = {"metadata": {"annotations": {SHARDS: number}}}
    shards.store.patch(LEASE, [Patch("system", RECORD, note)])
    shards.run(10, 2, 3, 4)
    assert shards.leaders() == []
    shards.run(10, 2, 3, 4)
    assert shards.leaders() == list(THREE)


STEPS = st.lists(
    st.tuples(st.integers(0, 4), st.sampled_from([0.0, 0.5, 2.0, 9.0, 16.0])), max_size=60
)


@given(STEPS, st.integers(0, 60))
def test_two_numbers_never_lead_at_the_same_time_with_a_malformed_record(
    steps: list[tuple[int, float]], when: int
) -> None:
    shards = Shards(*TWO, *THREE)
    for step, (number, pause) in enumerate(steps):
        if step == when:
            note = {"metadata": {"annotations": {SHARDS: "?"}}}
            shards.store.patch(LEASE, [Patch("system", RECORD, note)])
        shards.all[number].tick()
        shards.clock.advance(pause)
        assert len({count for _, count in shards.leaders()}) <= 1


@given(STEPS)
def test_two_numbers_never_lead_at_the_same_time(steps: list[tuple[int, float]]) -> None:
    shards = Shards(*TWO, *THREE)
    for number, pause in steps:
        shards.all[number].tick()
        shards.clock.advance(pause)
        assert len({count for _, count in shards.leaders()}) <= 1
