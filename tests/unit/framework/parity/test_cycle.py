"""The cycle of the exact path: its order, its messages, its errors, and assuming."""

import pytest

from stretto.framework.model.status import StatusCode
from stretto.framework.parity.scheduler import WEIGHTS
from stretto.framework.plugins.table import PARITY_FILTERS
from tests.support.parity_cluster import ZONE, cluster, decide, node, pod, refused, thing

BAD = {"matchExpressions": [{"key": "a", "operator": "Nearly", "values": ["b"]}]}


def test_plugins_run_in_the_order_of_kube_scheduler() -> None:
    names = [each.NAME for each in PARITY_FILTERS]
    assert names[:6] == [
        "NodeUnschedulable",
        "NodeName",
        "TaintToleration",
        "NodeAffinity",
        "NodePorts",
        "NodeResourcesFit",
    ]
    assert names[6:] == [
        "VolumeRestrictions",
        "NodeVolumeLimits",
        "VolumeBinding",
        "VolumeZone",
        "PodTopologySpread",
        "InterPodAffinity",
        "DynamicResources",
        "NodeDeclaredFeatures",
    ]


def test_weights_are_upstreams_defaults() -> None:
    assert WEIGHTS == {
        "TaintToleration": 3,
        "NodeAffinity": 2,
        "NodeResourcesFit": 1,
        "VolumeBinding": 1,
        "PodTopologySpread": 2,
        "InterPodAffinity": 2,
        "DynamicResources": 2,
        "NodeResourcesBalancedAllocation": 1,
        "ImageLocality": 1,
    }


def test_without_a_node_no_request_is_sent() -> None:
    assert decide(pod()).message == "no nodes available to schedule pods"


def test_each_node_counts_under_its_first_rejection_and_reasons_sort_as_text() -> None:
    nodes = [node("a", cordoned=True, cpu="0"), *(node(f"b{n}", cpu="0") for n in range(10))]
    decision = decide(pod(requests={"cpu": "1"}, preemptionPolicy="Never"), *nodes)
    assert decision.message == (
        "0/11 nodes are available: 1 node(s) were unschedulable, 10 Insufficient cpu."
        " no new claims to deallocate, preemption: not eligible due to preemptionPolicy=Never."
    )


def test_all_best_nodes_are_reported() -> None:
    decision = decide(pod(), node("b"), node("a"), node("c", cpu="1"))
    assert decision.best == ["a", "b"]
    assert decision.feasible_names == ["a", "b", "c"]


def test_an_assumed_pod_counts_at_once() -> None:
    scheduler = cluster(node("a"))
    requested = pod(requests={"cpu": "3"})
    scheduler.assume(scheduler.decide(requested), "a")
    again = scheduler.decide(pod("q", requests={"cpu": "3"}))
    assert again.message.startswith("0/1 nodes are available: 1 Insufficient cpu.")


def test_a_pod_that_comes_again_replaces_its_namesake() -> None:
    scheduler = cluster(node("a"), pod("e", on="a", requests={"cpu": "3"}))
    scheduler.snapshot.add_pod(pod("e", on="a", requests={"cpu": "1"}))
    assert scheduler.snapshot.used_of("cpu").tolist() == [1000]


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_pod_that_is_over_takes_nothing(phase: str) -> None:
    over = pod("e", on="a", requests={"cpu": "4"}, status={"phase": phase})
    assert decide(pod(requests={"cpu": "4"}), node("a"), over).feasible_names == ["a"]
    scheduler = cluster(node("a"), pod("e", on="a", requests={"cpu": "4"}))
    scheduler.snapshot.add_pod(over)
    assert scheduler.decide(pod(requests={"cpu": "4"})).feasible_names == ["a"]


def test_a_malformed_term_of_the_pod_itself_ends_its_cycle() -> None:
    term = {"topologyKey": ZONE, "labelSelector": BAD}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    decision = decide(pod(affinity={"podAffinity": required}), node("a"))
    assert "parsing pod: " in decision.message


def test_a_malformed_term_of_a_running_pod_affects_no_other_pod() -> None:
    term = {"topologyKey": ZONE, "labelSelector": BAD}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    there = pod("e", on="a", affinity={"podAntiAffinity": required})
    assert decide(pod(), node("a"), there).feasible_names == ["a"]


def test_a_malformed_constraint_is_an_error_and_does_not_preempt() -> None:
    rule = {"maxSkew": 1, "topologyKey": ZONE, "labelSelector": BAD}
    decision = decide(pod(topologySpreadConstraints=[rule]), node("a"))
    assert decision.message.startswith('running PreFilter plugin "PodTopologySpread": ')
    assert decision.preemption is None


def test_a_malformed_node_term_matches_nothing() -> None:
    terms = [{"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["x"]}]}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    assert refused("NodeAffinity", pod(affinity={"nodeAffinity": required}), node("a")) == ["a"]


def test_a_node_that_cannot_be_judged_ends_the_cycle_though_others_would_do() -> None:
    claim = thing("pvc", "e-v", spec={"storageClassName": "fast"})
    more = [
        thing(
            "pvc",
            "c",
            meta={"annotations": {"pv.kubernetes.io/bind-completed": "yes"}},
            spec={"volumeName": "v"},
        ),
        thing("pv", "v", spec={"csi": {"driver": "d", "volumeHandle": "v"}}),
        thing("CSINode", "a", spec={"drivers": [{"name": "d", "allocatable": {"count": 5}}]}),
    ]
    there = pod("e", on="a", volumes=[{"name": "v", "ephemeral": {}}])
    requested = pod(volumes=[{"name": "c", "persistentVolumeClaim": {"claimName": "c"}}])
    decision = decide(requested, node("a"), node("b"), there, claim, *more)
    assert decision.message.startswith('running "NodeVolumeLimits" filter plugin: PVC default/e-v')
    assert decision.feasible_names == []


@pytest.mark.parametrize("code", list(StatusCode))
def test_codes_are_spelled_as_upstream_spells_them(code: StatusCode) -> None:
    assert code.value in {
        "Success",
        "Unschedulable",
        "UnschedulableAndUnresolvable",
        "Skip",
        "Error",
    }
