"""Many workloads at once are planned as one after the other."""

from dataclasses import replace

import pytest

from stretto.base.rng import Rng
from stretto.federation.scheduling.bulk import BulkPlanner
from stretto.federation.scheduling.fleet import MemberCluster, MemberFleet
from stretto.federation.scheduling.kubeadmiral import schedule
from stretto.federation.scheduling.replicas.default import default_division
from stretto.federation.scheduling.workload import FederatedWorkload

NAMES = tuple("abcdef")


def workload(rng: Rng, number: int) -> FederatedWorkload:
    chosen = [name for name in NAMES if rng.random() < 0.6]
    return FederatedWorkload(
        f"w{number}",
        rng.randint(0, 20),
        request={"cpu": 1000},
        placement=frozenset(chosen),
        current={name: rng.randint(0, 6) for name in NAMES if rng.random() < 0.3},
        max_clusters=rng.choice([None, None, 2]),
    )


@pytest.mark.parametrize("seed", range(20))
def test_a_bulk_plan_is_the_plan_of_each_workload(seed: int) -> None:
    rng = Rng(seed)
    fleet = MemberFleet(
        tuple(
            MemberCluster(
                name,
                ready=rng.random() < 0.8,
                allocatable={"cpu": 40_000},
                available={"cpu": 1000 * rng.randint(5, 40)},
            )
            for name in NAMES
        )
    )
    planner, promised = BulkPlanner(fleet, default_division()), dict.fromkeys(NAMES, 0)
    for number in range(8):
        one = workload(rng, number)
        seen = MemberFleet(
            tuple(replace(x, promised={"cpu": promised[x.name]}) for x in fleet.members)
        )
        expected = schedule(one, seen, divide=default_division()).replicas
        assert planner.plan(one).replicas == expected
        for name, count in expected.items():
            promised[name] += 1000 * max(0, (count or 0) - (one.current.get(name) or 0))
