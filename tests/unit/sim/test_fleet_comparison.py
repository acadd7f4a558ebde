"""Traces run over clusters under several ways of division, with what-if events."""

from typing import Any

import pytest

from stretto.base.errors import InputError, UnknownNameError
from stretto.inputs.neutral.fleet import FleetNode, FleetPod
from stretto.inputs.objects.objects import GROUP
from stretto.sim.fleet.comparison.changes import WhatIf
from stretto.sim.fleet.comparison.outcomes import PolicyOutcome
from stretto.sim.fleet.comparison.plots import fleet_plots
from stretto.sim.fleet.comparison.policies import FleetPolicy
from stretto.sim.fleet.comparison.run import FleetSubject, compare
from stretto.sim.fleet.comparison.trace import fleet_trace, jobs_of, nodes_by_cluster
from stretto.sim.fleet.description import ClusterShape, FleetDescription

NODES = tuple(FleetNode(f"n{at}", 4000, 8192) for at in range(3))
SHARES = {"east": 2, "west": 1}


def pod(name: str, arrival: float = 0.0, **more: Any) -> FleetPod:
    return FleetPod(name, 1000, 512, arrival_s=arrival, **{"duration_s": 50.0, **more})


NOTHING = WhatIf()
"""No events."""


def ran(
    *pods: FleetPod, what_if: WhatIf = NOTHING, policy: str = "stretto", gangs: bool = False
) -> PolicyOutcome:
    trace = fleet_trace(NODES, pods, SHARES, gangs=gangs)
    subject = FleetSubject(FleetDescription(()), trace)
    return compare(subject, [FleetPolicy(policy)], what_if)[0]


def test_nodes_are_shared_by_clusters_in_proportion() -> None:
    nodes = [FleetNode(f"n{at}", 1000, 1024) for at in range(9)]
    found = nodes_by_cluster(nodes, SHARES)
    assert [len(found[name]) for name in SHARES] == [6, 3]


def test_equal_pods_of_a_job_that_arrive_together_are_one_deployment() -> None:
    jobs = jobs_of([pod("a", 7.0, owner="web"), pod("b", 7.0, owner="web"), pod("c", 9.0)])
    assert [(each.arrival_s, each.pods) for each in jobs] == [(0.0, 2), (2.0, 1)]


def test_pods_of_a_gang_wait_for_no_pod_group() -> None:
    (job,) = jobs_of([pod("a", group="g"), pod("b", group="g")])
    metadata = job.template["metadata"]
    assert (job.pods, metadata["labels"]) == (2, {"stretto.dev/job": job.name})
    assert not metadata.get("annotations")


def test_a_gang_has_a_pod_group_that_needs_all_its_pods() -> None:
    gang, single = jobs_of([pod("a", group="g"), pod("b", group="g"), pod("c", 1.0)], gangs=True)
    group = gang.pod_group()
    assert group is not None
    assert group["spec"] == {"minMember": 2}
    template = gang.deployment()["spec"]["template"]
    assert template["metadata"]["annotations"][GROUP] == group["metadata"]["name"]
    assert single.pod_group() is None


@pytest.mark.parametrize(("gangs", "wait"), [(True, 49.0), (False, 0.0)])
def test_a_gang_waits_until_one_cluster_has_capacity_for_it(gangs: bool, wait: float) -> None:
    six = [pod(f"p{at}") for at in range(6)]
    five = [pod(f"g{at}", 1.0, group="g") for at in range(5)]
    found = ran(*six, *five, gangs=gangs)
    assert found.jobs is not None
    assert (found.jobs.ended, found.pending) == (7, 0)
    assert found.jobs.mean_wait_s == pytest.approx(wait / 7, abs=1.0)


def test_jobs_end_and_those_that_wait_start_then() -> None:
    pods = [pod(f"p{at}") for at in range(13)]
    found = ran(*pods)
    assert found.jobs is not None
    assert (found.jobs.arrived, found.jobs.started, found.jobs.ended) == (13, 13, 13)
    assert found.jobs.mean_wait_s == pytest.approx(50 / 13, abs=1.0)
    assert (found.running, found.moves) == (0, 0)


def test_times_that_are_no_whole_seconds_are_reached() -> None:
    found = ran(*(pod(f"p{at}", at / 7, duration_s=at / 3) for at in range(1, 8)))
    assert found.jobs is not None
    assert found.jobs.ended == 7


def test_static_weights_leave_pods_pending_where_free_capacity_is_elsewhere() -> None:
    pods = [pod(f"p{at}", owner="web") for at in range(12)]
    static, ours = ran(*pods, policy="static"), ran(*pods)
    assert static.mean_pending > ours.mean_pending == 0.0


def test_pods_of_a_lost_cluster_move() -> None:
    pods = [pod(f"p{at}", owner="web", duration_s=None) for at in range(6)]
    found = ran(*pods, what_if=WhatIf(lost=("west",), at=10.0))
    assert (found.running, found.filled) == (6, {"east": 0.75})


def test_a_job_that_departs_does_so_although_it_waits() -> None:
    found = ran(pod("late", departure_s=30.0, duration_s=None))
    assert found.jobs is not None
    assert found.jobs.ended == 1


@pytest.mark.parametrize("what_if", [WhatIf(lost=("moon",)), WhatIf(added=(ClusterShape("east"),))])
def test_an_event_of_an_impossible_cluster_is_refused(what_if: WhatIf) -> None:
    with pytest.raises((UnknownNameError, InputError)):
        ran(pod("a"), what_if=what_if)


def test_fewer_nodes_than_clusters_are_refused() -> None:
    with pytest.raises(InputError, match="at least one node"):
        fleet_trace(NODES[:1], [pod("a")], SHARES)


def test_the_plots_show_fill_and_waiting_pods() -> None:
    pytest.importorskip("matplotlib")
    drawn = fleet_plots("trace", [ran(pod("a"))], WhatIf(lost=("west",), at=5.0))
    assert {name for name in drawn if name.endswith("png")} == {
        "fleet-fill.png",
        "fleet-pending.png",
    }
