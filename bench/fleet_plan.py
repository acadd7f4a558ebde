"""Plan many workloads over many clusters from scratch, and after one cluster's capacity changed.

    python bench/fleet_plan.py [--clusters N] [--workloads N]

Writes ``bench/results/fleet-plan-COMMIT.json``: processor seconds, and the peak memory. Each
workload may run in eight clusters of its region and has 10 to 190 replicas; half of the policies
have weights, the others follow the free capacity.
"""

import argparse
import resource
from collections.abc import Mapping
from dataclasses import replace
from time import perf_counter as wall_clock
from time import process_time

from record import commit, machine, store

from stretto.base.rng import Rng
from stretto.federation.scheduling.bulk import BulkPlanner
from stretto.federation.scheduling.fleet import MemberCluster, MemberFleet
from stretto.federation.scheduling.replicas.default import default_division
from stretto.federation.scheduling.workload import FederatedWorkload, ReplicaLimits

IN_POLICY = 8
"""Clusters of one policy."""
WAITING = 200
"""Workloads that wait for the capacity of one cluster."""


def fleet_of(count: int, workloads: int, rng: Rng) -> MemberFleet:
    """Clusters that hold the workloads twice."""
    cpu = int(workloads * 100 * 1000 * 2 / count)
    size = {"cpu": cpu, "memory": cpu << 22}
    return MemberFleet(
        tuple(
            MemberCluster(
                f"c{at}",
                allocatable=size,
                available={**size, "cpu": cpu - rng.randint(0, cpu // 5)},
            )
            for at in range(count)
        )
    )


def workload_of(number: int, clusters: int) -> FederatedWorkload:
    """One workload, from its number alone."""
    rng = Rng(number)
    first = rng.randint(0, clusters - 1)
    names = [f"c{(first + at) % clusters}" for at in range(min(IN_POLICY, clusters))]
    weights = {name: rng.randint(1, 10) for name in names} if number % 2 else {}
    request = {"cpu": 1000, "memory": 2 << 30}
    return FederatedWorkload(
        f"default/w{number}",
        rng.randint(10, 190),
        request=request,
        placement=frozenset(names),
        limits=ReplicaLimits(weights=weights),
    )


def measure(clusters: int, workloads: int) -> dict[str, float]:
    """Seconds and memory."""
    rng = Rng(0)
    fleet = fleet_of(clusters, workloads, rng)
    planner = BulkPlanner(fleet, default_division())
    begin, started = process_time(), wall_clock()
    pods = waiting = 0
    placed: list[Mapping[str, int | None]] = []
    for number in range(workloads):
        found = planner.plan(workload_of(number, clusters))
        placed.append(found.replicas)
        pods += sum(count or 0 for count in found.replicas.values())
        waiting += sum(found.waiting.values()) + found.unplaced
    seconds, wall = process_time() - begin, wall_clock() - started
    moved = _rescaled(planner, placed, clusters)
    replanned = _grown(planner, fleet, placed, clusters)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {
        "clusters": clusters,
        "workloads": workloads,
        "pods": pods,
        "waiting": waiting,
        "seconds": round(seconds, 2),
        "wall_seconds": round(wall, 2),
        "per_second": round(workloads / seconds, 1),
        "changes_per_second": round(moved, 1),
        "capacity_change_ms": round(1000 * replanned, 1),
        "peak_mib": round(peak, 1),
    }


def _rescaled(planner: BulkPlanner, placed: list[Mapping[str, int | None]], clusters: int) -> float:
    """Rescales of running workloads per second."""
    count = min(5_000, len(placed))
    begin = process_time()
    for number in range(count):
        one = workload_of(number, clusters)
        planner.plan(replace(one, replicas=one.replicas + 7, current=placed[number]))
    return count / (process_time() - begin)


def _grown(
    planner: BulkPlanner,
    fleet: MemberFleet,
    placed: list[Mapping[str, int | None]],
    clusters: int,
) -> float:
    """Seconds to plan the workloads again that wait for a cluster that grows."""
    grown = replace(fleet.members[0], available=fleet.members[0].allocatable)
    affected = [at for at, each in enumerate(placed) if grown.name in each][:WAITING]
    begin = process_time()
    planner.changed(grown)
    for number in affected:
        one = workload_of(number, clusters)
        planner.plan(replace(one, current=placed[number]))
    return process_time() - begin


def main() -> None:
    """Measure and record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clusters", type=int, nargs="+", default=[5, 50, 500, 1000])
    parser.add_argument("--workloads", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    args = parser.parse_args()
    points = [measure(each, args.workloads[0]) for each in args.clusters]
    points += [measure(500, each) for each in args.workloads]
    store("fleet-plan", {"commit": commit(), "machine": machine(), "points": points})


if __name__ == "__main__":
    main()
