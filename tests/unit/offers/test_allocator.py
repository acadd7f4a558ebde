"""The allocator: cases that Mesos' documentation and its own tests describe."""

import msgspec
import pytest

from stretto.base.errors import InputError
from stretto.base.rng import Rng
from stretto.offers.allocator.allocator import Allocator
from stretto.offers.allocator.build import make_allocator
from stretto.offers.allocator.contract import Holding
from stretto.offers.allocator.subjects.agents import AgentInfo, FaultDomain, Unavailability
from stretto.offers.allocator.subjects.frameworks import (
    FrameworkCapability,
    FrameworkInfo,
    ResourceRequest,
)
from stretto.offers.allocator.subjects.quota import RoleQuota
from stretto.offers.allocator.subjects.settings import MESOS, AllocatorSettings, SorterKind
from stretto.offers.allocator.triggers import MOST_PARTS, Triggers
from stretto.offers.allocator.values.kinds import (
    DiskVolume,
    ReservationType,
    ResourceIdentity,
    RoleReservation,
)
from stretto.offers.allocator.values.resources import Resources, resources_of, scalars


def allocator(**changes: object) -> Allocator:
    return make_allocator(Rng(1), msgspec.structs.replace(MESOS, **changes))


def agent(number: int, cpus: int = 4, mem: int = 1024, extra: Resources | None = None) -> AgentInfo:
    whole = scalars(cpus=cpus * 1000, mem=mem * 1000) + (extra or resources_of([]))
    return AgentInfo(f"a{number}", f"host{number}", whole)


def framework(name: str, *roles: str, **changes: object) -> FrameworkInfo:
    return FrameworkInfo(name, frozenset(roles), **changes)  # type: ignore[arg-type]


def offered(given: Allocator, now: float = 1.0) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for each in given.cycle(now, batch=True).offers:
        found.setdefault(each.framework, []).append(each.agent)
    return found


def reserved(role: str, cpus: int, **changes: object) -> Resources:
    stack = (RoleReservation(ReservationType.DYNAMIC, role),)
    identity = ResourceIdentity("cpus", stack, **changes)  # type: ignore[arg-type]
    return resources_of([(identity, cpus * 1000)])


def test_agents_go_to_the_smallest_dominant_share_as_they_arrive() -> None:
    given = allocator()
    given.add_framework(framework("1", "role1"))
    owners = []
    for number, (cpus, mem) in enumerate([(2, 1024), (1, 512), (3, 2048), (4, 4096), (1, 512)]):
        given.add_agent(agent(number, cpus, mem))
        owners.append(next(iter(given.cycle(0.0).offers)).framework)
        if number == 0:
            given.add_framework(framework("2", "role2"))
        if number == 2:
            given.add_framework(framework("3", "role1"))
            given.add_framework(framework("4", "role1"))
    assert owners == ["1", "2", "2", "3", "2"]


def test_equal_frameworks_alternate() -> None:
    given = allocator()
    given.add_agent(agent(1))
    given.add_framework(framework("1", "*"))
    given.add_framework(framework("2", "*"))
    owners = []
    for tick in range(10):
        offer = given.cycle(float(tick), batch=True).offers[0]
        owners.append(offer.framework)
        given.recover(Holding(offer.framework, "*", offer.agent), offer.resources, tick)
    assert owners == ["1", "2"] * 5


def decline_all(given: Allocator, now: float, refuse: float, name: str) -> None:
    for held_by in list(given.pool.agents):
        for (owner, role), resources in list(held_by.held.items()):
            if owner == name:
                given.recover(Holding(owner, role, held_by.info.id), resources, now, refuse)


def test_a_declined_agent_passes_to_the_next_framework_until_the_filter_ends() -> None:
    given = allocator()
    given.add_agent(agent(1))
    given.add_framework(framework("1", "role1"))
    assert offered(given, 1.0) == {"1": ["a1"]}
    decline_all(given, 1.0, 3.0, "1")
    assert offered(given, 2.0) == {}
    assert offered(given, 4.0) == {"1": ["a1"]}


def test_a_filter_of_less_than_an_interval_survives_one_batch_cycle() -> None:
    given = allocator()
    given.add_agent(agent(1))
    given.add_framework(framework("1", "role1"))
    offered(given, 1.0)
    decline_all(given, 1.0, 0.1, "1")
    assert offered(given, 2.0) == {}
    assert offered(given, 3.0) == {"1": ["a1"]}


def test_revive_removes_filters_and_makes_a_cycle_due() -> None:
    given = allocator()
    given.add_agent(agent(1))
    given.add_framework(framework("1", "role1"))
    offered(given, 1.0)
    decline_all(given, 1.0, 1000.0, "1")
    given.revive("1")
    assert given.is_due
    assert [each.agent for each in given.cycle(1.0).offers] == ["a1"]


def test_a_larger_offer_passes_a_filter() -> None:
    given = allocator()
    given.add_agent(agent(1))
    given.add_framework(framework("1", "role1"))
    offered(given, 1.0)
    decline_all(given, 1.0, 1000.0, "1")
    given.update_agent(agent(1, cpus=8))
    assert offered(given, 2.0) == {"1": ["a1"]}


def test_suppressed_roles_receive_nothing() -> None:
    given = allocator()
    given.add_agent(agent(1))
    given.add_framework(framework("1", "role1"), suppressed=["role1"])
    assert offered(given) == {}


def test_an_absent_role_keeps_its_guarantee_free() -> None:
    given = allocator()
    given.set_quota("role1", RoleQuota({"cpus": 4000, "mem": 1_024_000}))
    given.add_framework(framework("2", "role2"))
    given.add_agent(agent(1))
    assert offered(given) == {}
    given.add_agent(agent(2))
    assert len(offered(given)["2"]) == 1


def test_a_guarantee_divides_an_agent() -> None:
    given = allocator()
    limits = {"cpus": 500, "mem": 200_000}
    given.set_quota("role1", RoleQuota(limits, limits))
    given.add_framework(framework("1", "role1"))
    given.add_agent(agent(1, cpus=1, mem=512))
    assert given.cycle(1.0).offers[0].resources == scalars(cpus=500, mem=200_000)


def test_an_agent_with_gpus_is_offered_to_frameworks_that_use_them() -> None:
    given = allocator()
    given.add_agent(agent(1, extra=scalars(gpus=1000)))
    given.add_framework(framework("1", "role1"))
    assert offered(given) == {}
    able = frozenset({FrameworkCapability.GPU_RESOURCES})
    given.add_framework(framework("2", "role1", capabilities=able))
    assert offered(given, 2.0) == {"2": ["a1"]}


def test_an_agent_of_another_region_needs_an_aware_framework() -> None:
    given = allocator(region="here")
    there = msgspec.structs.replace(agent(1), domain=FaultDomain("there", "z"))
    given.add_agent(there)
    given.add_framework(framework("1", "role1"))
    assert offered(given) == {}


def test_revocable_resources_need_the_capability() -> None:
    extra = resources_of([(ResourceIdentity("cpus", revocable=True), 10_000)])
    given = allocator()
    given.add_agent(agent(1, extra=extra))
    given.add_framework(framework("1", "role1"))
    assert given.cycle(1.0).offers[0].resources == scalars(cpus=4000, mem=1_024_000)


def shared_volume() -> Resources:
    stack = (RoleReservation(ReservationType.DYNAMIC, "role1"),)
    volume = ResourceIdentity("disk", stack, volume=DiskVolume("v"), shared=True, whole=50_000)
    return resources_of([(volume, 1)])


def test_a_shared_volume_is_offered_while_it_is_in_use() -> None:
    given = allocator()
    able = frozenset({FrameworkCapability.SHARED_RESOURCES})
    given.add_agent(agent(1, extra=shared_volume()))
    given.add_framework(framework("1", "role1", capabilities=able, min_allocatable={"role1": ()}))
    first = given.cycle(1.0).offers[0]
    given.use(Holding("1", "role1", "a1"), first.resources)
    assert given.cycle(2.0, batch=True).offers[0].resources == shared_volume()


def test_an_operator_reserves_free_capacity_only() -> None:
    given = allocator()
    given.add_agent(agent(1))
    before, after = scalars(cpus=1000), reserved("role2", 1)
    assert given.convert_available("a1", before, after)
    given.add_framework(framework("1", "role1"))
    assert given.cycle(1.0).offers[0].resources == scalars(cpus=3000, mem=1_024_000)
    assert not given.convert_available("a1", before, after)


def test_maintenance_sends_each_holder_one_inverse_offer() -> None:
    given = allocator()
    given.add_agent(agent(1))
    given.add_framework(framework("1", "role1"))
    offered(given)
    given.set_unavailability("a1", Unavailability(100.0))
    assert [each.framework for each in given.cycle(2.0).inverse_offers] == ["1"]
    assert given.cycle(3.0, batch=True).inverse_offers == ()
    given.answer_inverse_offer(Holding("1", "", "a1"), accepted=True, now=3.0)
    assert given.inverse_statuses("a1")["1"].accepted


def test_use_of_an_unknown_framework_counts_once_it_is_added() -> None:
    given = allocator()
    given.add_agent(agent(1), {Holding("1", "role1", "a1"): scalars(cpus=4000)})
    given.add_framework(framework("1", "role1"))
    assert given.pool.role_sorter.share("role1") == 1.0


def test_recovery_with_quota_waits_for_most_agents() -> None:
    given = allocator()
    given.set_quota("role1", RoleQuota({"cpus": 1000}))
    given.add_framework(framework("1", "role1"))
    given.begin_recovery(5, now=0.0)
    given.add_agent(agent(1))
    assert offered(given, 1.0) == {}
    assert offered(given, 600.0) == {"1": ["a1"]}


def test_a_cycle_of_at_most_two_agents_leaves_the_others_to_the_next_ones() -> None:
    given = allocator()
    given.add_framework(framework("1", "role1"))
    for number in range(5):
        given.add_agent(agent(number))
    sizes = [len(given.cycle(1.0, most=2).offers) for _ in range(3)]
    assert (sizes, given.is_due) == ([2, 2, 1], False)


def test_a_cycle_has_a_bounded_number_of_parts_and_decides_about_each_agent_once() -> None:
    given = allocator()
    given.add_framework(framework("1", "role1"))
    for number in range(3 * MOST_PARTS):
        given.add_agent(agent(number))
    parts = []
    while given.is_due:
        parts.append([each.agent for each in given.cycle(1.0, most=1).offers])
    assert len(parts) == MOST_PARTS
    decided = [each for part in parts for each in part]
    assert sorted(decided) == sorted(f"a{number}" for number in range(3 * MOST_PARTS))


class CountingRng(Rng):
    """Counts its draws."""

    draws = 0

    def randint(self, low: int, high: int) -> int:
        """An integer from low to high."""
        self.draws += 1
        return super().randint(low, high)


def test_a_part_draws_its_own_agents_only() -> None:
    triggers, rng = Triggers(), CountingRng(1)
    triggers.call_each(f"a{number}" for number in range(10 * MOST_PARTS))
    assert len(triggers.draw(rng, 5)) == rng.draws == 10


def test_a_random_sorter_follows_the_weights() -> None:
    given = allocator(role_sorter=SorterKind.RANDOM)
    given.set_weights({"role2": 3.0})
    given.add_framework(framework("1", "role1"))
    given.add_framework(framework("2", "role2"))
    for number in range(400):
        given.add_agent(agent(number))
    assert 260 < len(offered(given)["2"]) < 340


@pytest.mark.parametrize("role", ["", "a//b", "/a", "a/", "-a", "a b", ".", "a/..", "a/*"])
def test_an_invalid_role_is_refused(role: str) -> None:
    with pytest.raises(InputError, match="roles"):
        allocator().add_framework(framework("1", role))


def test_quota_below_the_top_level_is_refused_as_in_mesos() -> None:
    with pytest.raises(InputError, match="top level"):
        allocator().set_quota("a/b", RoleQuota({"cpus": 1000}))


# ---------------------------------------------------------------- differences from Mesos


def better(**only: object) -> Allocator:
    """Mesos with some differences switched on."""
    return make_allocator(Rng(1), msgspec.structs.replace(MESOS, **only))


def test_nested_quota_limits_each_role_on_the_path() -> None:
    given = better(nested_quota=True)
    given.set_quota("a", RoleQuota(limits={"cpus": 3000}))
    given.set_quota("a/b", RoleQuota(limits={"cpus": 2000}))
    given.add_framework(framework("1", "a/b"))
    given.add_framework(framework("2", "a/c"))
    given.add_agent(agent(1))
    given.add_agent(agent(2))
    cpus = {each.framework: 0 for each in given.cycle(1.0).offers}
    for held_by in given.pool.agents:
        for (owner, _), resources in held_by.held.items():
            cpus[owner] += dict(resources.quantities).get("cpus", 0)
    assert cpus["1"] <= 2000
    assert sum(cpus.values()) == 3000


def test_a_guarantee_of_a_parent_serves_its_children() -> None:
    given = better(nested_quota=True)
    given.set_quota("a", RoleQuota({"cpus": 4000, "mem": 1_024_000}))
    given.add_framework(framework("1", "b"))
    given.add_framework(framework("2", "a/c"))
    given.add_agent(agent(1))
    assert offered(given) == {"2": ["a1"]}


def test_frameworks_of_a_role_have_weights() -> None:
    given = better(framework_weights=True)
    given.add_framework(framework("1", "role1"))
    given.add_framework(framework("2", "role1", weight=2.0))
    for number in range(60):
        given.add_agent(agent(number))
    assert {name: len(each) for name, each in offered(given).items()} == {"1": 20, "2": 40}


def test_a_decline_makes_a_cycle_due() -> None:
    given = better(allocate_on_recover=True)
    given.add_agent(agent(1))
    given.add_framework(framework("1", "role1"))
    given.add_framework(framework("2", "role2"))
    offered(given)
    decline_all(given, 1.0, 5.0, "1")
    assert [each.framework for each in given.cycle(1.0).offers] == ["2"]


def test_requests_limit_the_offers_of_a_framework() -> None:
    given = better(honor_requests=True)
    given.add_framework(framework("1", "role1"))
    given.request("1", [ResourceRequest({"cpus": 8000})])
    given.add_agent(agent(1))
    given.add_agent(agent(2, cpus=8))
    assert offered(given) == {"1": ["a2"]}


def test_a_declining_framework_comes_after_its_siblings() -> None:
    given = better(decliners_yield=True)
    for name in ("1", "2"):
        given.add_framework(framework(name, f"role{name}"))
    given.add_agent(agent(1), {Holding("2", "role2", "a1"): scalars(cpus=4000, mem=1_024_000)})
    given.add_agent(agent(2))
    assert offered(given, 1.0) == {"1": ["a2"]}
    decline_all(given, 1.0, 5.0, "1")
    given.add_agent(agent(3))
    assert set(offered(given, 2.0)) == {"2"}


def test_the_first_accept_of_a_contested_offer_wins() -> None:
    given = better(holders=2)
    given.add_framework(framework("1", "role1"))
    given.add_framework(framework("2", "role2"))
    given.add_agent(agent(1))
    offers = given.cycle(1.0).offers
    assert [each.framework for each in offers] == ["1", "2"]
    assert all(each.contested for each in offers)
    lost = given.claim(Holding("2", "role2", "a1"), offers[1].resources)
    assert lost == (offers[0],)
    assert given.pool.role_sorter.share("role2") == 1.0
    assert given.pool.role_sorter.share("role1") == 0.0


def test_one_accept_of_two_contested_offers_claims_both() -> None:
    given = better(holders=2)
    given.add_framework(framework("1", "role1"))
    given.add_framework(framework("2", "role2"))
    given.add_agent(agent(1))
    first = given.cycle(1.0).offers[1].resources
    given.update_agent(agent(1, cpus=8))
    second = given.cycle(2.0, batch=True).offers[0].resources
    lost = given.claim(Holding("2", "role2", "a1"), first + second)
    assert {each.framework for each in lost} == {"1"}
    held = given.pool.agents.find("a1")
    assert held is not None
    assert held.held == {("2", "role2"): first + second}


def test_a_declined_contested_offer_stays_with_its_other_holder() -> None:
    given = better(holders=2)
    given.add_framework(framework("1", "role1"))
    given.add_framework(framework("2", "role2"))
    given.add_agent(agent(1))
    offers = given.cycle(1.0).offers
    given.recover(Holding("1", "role1", "a1"), offers[0].resources, 1.0, 5.0)
    assert given.pool.role_sorter.share("role2") == 1.0
    assert given.claim(Holding("2", "role2", "a1"), offers[1].resources) == ()


def test_mesos_settings_switch_every_difference_off() -> None:
    assert (
        msgspec.structs.replace(
            AllocatorSettings(),
            nested_quota=False,
            framework_weights=False,
            offer_timeout=None,
            allocate_on_recover=False,
            honor_requests=False,
            decliners_yield=False,
            holders=1,
        )
        == MESOS
    )
