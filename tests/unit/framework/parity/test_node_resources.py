"""NodeResourcesFit, its score, NodeResourcesBalancedAllocation and what pods count with."""

from typing import Any

import pytest

from stretto.framework.model import requests
from stretto.framework.model.status import StatusCode
from stretto.framework.plugins.parity import balanced_allocation, node_resources_fit
from tests.support.parity_cluster import node, pod, said, scores

FIT, BALANCE = (
    node_resources_fit.NodeResourcesFitPlugin.NAME,
    balanced_allocation.NodeResourcesBalancedAllocationPlugin.NAME,
)
GI = 1024**3
MEMORY = requests.DEFAULT_MEMORY


def container(name: str, **requested: str) -> dict[str, Any]:
    return {"name": name, "resources": {"requests": requested}}


def test_a_request_above_all_that_there_is_cannot_be_cured() -> None:
    found = said(FIT, pod(requests={"cpu": "5"}), node("n"))["n"]
    assert found == (StatusCode.UNRESOLVABLE, ("Insufficient cpu",))


def test_a_request_above_what_is_free_may_be_cured() -> None:
    there = pod("e", on="n", requests={"cpu": "3"})
    found = said(FIT, pod(requests={"cpu": "2"}), node("n"), there)["n"]
    assert found == (StatusCode.UNSCHEDULABLE, ("Insufficient cpu",))


def test_every_shortage_is_reported_and_one_unresolvable_makes_all_unresolvable() -> None:
    there = pod("e", on="n", requests={"cpu": "3"})
    requested = pod(requests={"cpu": "2", "x.io/gpu": "1", "hugepages-2Mi": "2Mi"})
    found = said(FIT, requested, node("n", pods="1"), there)["n"]
    assert found.code is StatusCode.UNRESOLVABLE
    assert found.reasons == (
        "Too many pods",
        "Insufficient cpu",
        "Insufficient hugepages-2Mi",
        "Insufficient x.io/gpu",
    )


def test_resources_that_nodes_do_not_count_are_passed_over() -> None:
    assert said(FIT, pod(requests={"strange": "1", "requests.x": "1"}), node("n")) == {}
    assert said(FIT, pod(requests={"x.io/gpu": "0"}), node("n")) == {}


def test_pod_level_requests_stand_in_for_those_of_containers() -> None:
    requested = pod(requests={"cpu": "1"}, resources={"requests": {"cpu": "5"}})
    assert said(FIT, requested, node("n"))["n"].reasons == ("Insufficient cpu",)


def test_the_score_is_a_mean_of_floors() -> None:
    # 3.9 of 4 cores and 7.8046875 of 8Gi are free: 97 and 97.
    assert scores(FIT, pod(), node("n")) == {"n": 97}
    assert scores(FIT, pod(requests={"cpu": "1", "memory": "1Gi"}), node("n")) == {"n": 81}


def test_a_node_without_memory_is_scored_by_cpu_alone() -> None:
    assert scores(FIT, pod(requests={"cpu": "1"}), node("n", memory="0")) == {"n": 75}


@pytest.mark.parametrize(
    ("spec", "cpu", "memory"),
    [
        ({"containers": [container("a")]}, 100, MEMORY),
        ({"containers": [container("a", cpu="0")]}, 0, MEMORY),
        (
            {"containers": [container("a"), container("b", cpu="1")]},
            1100,
            MEMORY * 2,
        ),
        (
            {"containers": [container("a")], "initContainers": [container("i"), container("j")]},
            100,
            MEMORY,
        ),
        (
            {"containers": [container("a")], "resources": {"requests": {"cpu": "2"}}},
            100,
            MEMORY,
        ),
        (
            {"containers": [container("a", cpu="1", memory="1Gi")], "overhead": {"cpu": "250m"}},
            1250,
            GI,
        ),
    ],
)
def test_the_score_counts_silent_containers(spec: dict[str, Any], cpu: int, memory: int) -> None:
    assert requests.fit_score_requests(pod(**spec)) == (cpu, memory)


def test_a_sidecar_adds_up_and_an_init_container_peaks_on_top_of_it() -> None:
    side = {**container("s", cpu="1"), "restartPolicy": "Always"}
    inits = [side, container("i", cpu="3")]
    requested = pod(containers=[container("a", cpu="1")], initContainers=inits)
    assert requests.filter_requests(requested) == {"cpu": 4000}


def test_a_running_pod_with_pod_level_cpu_is_seen_with_default_memory_only() -> None:
    there = pod(resources={"requests": {"cpu": "2"}})
    assert requests.running(there) == ({"cpu": 2000}, 2000, MEMORY)


@pytest.mark.parametrize(("reason", "cpu"), [("Deferred", 4000), ("Infeasible", 3000)])
def test_a_resize_counts_the_largest_and_drops_what_is_infeasible(reason: str, cpu: int) -> None:
    reported = {
        "name": "c",
        "resources": {"requests": {"cpu": "2"}},
        "allocatedResources": {"cpu": "3"},
    }
    pending = {"type": "PodResizePending", "status": "True", "reason": reason}
    there = pod(
        requests={"cpu": "4"}, status={"containerStatuses": [reported], "conditions": [pending]}
    )
    assert requests.running(there)[0] == {"cpu": cpu}
    assert requests.filter_requests(there) == {"cpu": 4000}


def test_a_pod_level_resize_counts_only_what_the_spec_names() -> None:
    status = {"resources": {"requests": {"cpu": "3", "memory": "9Gi"}}}
    there = pod(resources={"requests": {"cpu": "2"}}, status=status)
    assert requests.running(there)[0] == {"cpu": 3000}


def test_balance_rewards_what_brings_the_shares_closer() -> None:
    there = pod("e", on="a", requests={"cpu": "2"})
    requested = pod(requests={"memory": "4Gi"})
    # a: 75 without, 100 with; b: 100 without, 75 with.
    assert scores(BALANCE, requested, node("a"), node("b"), there) == {"a": 87, "b": 62}


def test_balance_of_a_node_with_one_resource_does_not_change() -> None:
    assert scores(BALANCE, pod(requests={"cpu": "1"}), node("n", memory="0")) == {"n": 75}


def test_balance_is_skipped_for_a_pod_that_requests_nothing() -> None:
    assert scores(BALANCE, pod(), node("n")) is None
