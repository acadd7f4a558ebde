"""Moves from hot nodes: thresholds, budgets, rests of owners, dry runs."""

import json

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.api.wire.kinds import CUSTOM_NODE_RESOURCE, POD
from stretto.base.clock import timestamp
from stretto.base.errors import InputError, UnknownNameError
from stretto.control.controllers.hot_nodes.loads import loads_of_pools
from stretto.framework.profile.capacity.hot_nodes import (
    AnomalyRule,
    HotNodeRules,
    LoadPool,
    read_hot_nodes,
)
from stretto.framework.profile.profile import load_profile
from stretto.stores.store import Deletion, Patch
from stretto.testing import Harness, make_node, make_pod
from stretto_lab.models.koordinator.load.thresholds import (
    LoadClass,
    LoadedMember,
    LoadLimits,
    Percents,
    bounds,
    classify,
)

RULES = {
    "everySeconds": 60,
    "low": {"cpu": 30},
    "high": {"cpu": 50},
    "anomaly": {"abnormal": 1},
    "dryRun": False,
}
OWNER = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "controller": True}


def owned(name: str, owner: str = "") -> bytes:
    pod = json.loads(make_pod(name, cpu="1", memory="1Gi"))
    owner = owner or f"rs-{name}"
    pod["metadata"]["ownerReferences"] = [{**OWNER, "name": owner, "uid": f"uid-{owner}"}]
    pod["spec"]["nodeName"] = "hot"
    return json.dumps(pod).encode()


def speeds(hot: float, others: float) -> dict[str, object]:
    factors = {"hot": hot, "a": others, "b": others}
    return {"label": "kubernetes.io/hostname", "factors": factors}


class Fleet:
    """A hot node with pods and two idle ones, whose use a test reports."""

    def __init__(self, pods: int = 8, one_owner: bool = False, **rules: object) -> None:
        form = {"stretto": {"rebalance": RULES | rules, "retry": True}}
        profile = load_profile({"profiles": [form]})
        nodes = [make_node(name, cpu="10", memory="64Gi") for name in ("hot", "a", "b")]
        self.at = Harness(nodes, profile=profile, config={"tier": "numpy"})
        self.at.submit(*(owned(f"p{i}", "rs" if one_owner else "") for i in range(pods)))
        for name in ("hot", "a", "b"):
            self.at.create(CUSTOM_NODE_RESOURCE, json.dumps({"metadata": {"name": name}}).encode())
        self.at.settle()

    def round(self, hot: str = "8", others: str = "1") -> int:
        """Report the use of all nodes, and pass a round; returns the moves so far."""
        self.report(hot, others)
        return self.pass_round()

    def report(self, hot: str, others: str) -> None:
        for name in ("hot", "a", "b"):
            used = {"cpu": hot if name == "hot" else others, "memory": "1Gi"}
            metric = {
                "updateTime": timestamp(self.at.clock.now() + 1),
                "nodeMetric": {"genericUsage": used},
            }
            status = {"status": {"nodeMetricStatus": metric}}
            self.at.store.patch_status(CUSTOM_NODE_RESOURCE, [Patch("", name, status)])

    def pass_round(self) -> int:
        """Pass a round; returns the moves so far."""
        self.at.settle(61)
        return len(self.at.plane.controllers.unloading.latest)

    @property
    def on_hot(self) -> int:
        return list(self.at.placements().values()).count("hot")


def test_pods_leave_a_hot_node_until_it_is_below_its_threshold() -> None:
    fleet = Fleet()
    assert fleet.round() == 3
    assert fleet.on_hot == 5
    targets = {move.target for move in fleet.at.plane.controllers.unloading.latest}
    assert targets == {"a", "b"}


def test_a_dry_run_is_the_default_and_moves_nothing() -> None:
    form = {key: value for key, value in RULES.items() if key != "dryRun"}
    fleet = Fleet(**form, dryRun=True)
    assert fleet.round() == 3
    assert fleet.on_hot == 8
    pool = LoadPool(low={"cpu": 30}, high={"cpu": 50}, anomaly=AnomalyRule(1))
    assert read_hot_nodes(form, "rebalance") == HotNodeRules(60, (pool,))


def test_the_budget_of_the_receivers_bounds_the_moves() -> None:
    fleet = Fleet(low={"cpu": 50})
    assert fleet.round(others="4500m") == 0


def test_no_more_pods_move_than_the_limit_of_a_round() -> None:
    assert Fleet(moves=2).round() == 2


def test_pods_leave_in_the_round_after_so_many_hot_rounds() -> None:
    fleet = Fleet(anomaly={"abnormal": 3}, dryRun=True)
    assert [fleet.round() for _ in range(4)] == [0, 0, 0, 3]


def test_the_owner_of_a_moved_pod_rests_so_that_no_pod_goes_back_and_forth() -> None:
    fleet = Fleet(one_owner=True)
    assert fleet.round() == 1
    fleet.round(hot="1", others="8")
    fleet.round()
    assert fleet.on_hot == 7


def test_nodes_without_a_recent_measurement_are_neither_hot_nor_receivers() -> None:
    fleet = Fleet()
    fleet.at.settle(61)
    assert fleet.at.plane.controllers.unloading.latest == ()


@pytest.mark.parametrize("lie", ["1000000", "1e18"])
def test_a_report_of_more_than_any_node_has_moves_nothing(lie: str) -> None:
    assert Fleet().round(hot=lie) == 0


def test_the_use_of_a_pod_counts_by_the_speed_of_its_node() -> None:
    """Each of 8 pods uses one core of the hot node; a slow receiver spares two and a half."""
    plain, slow = Fleet(), Fleet(cpuSpeeds=speeds(hot=1.0, others=0.5))
    assert (plain.round(others="2.5"), slow.round(others="2.5")) == (3, 2)


def test_a_fast_node_receives_more_pods_of_a_slow_one() -> None:
    fast = Fleet(cpuSpeeds=speeds(hot=0.5, others=1.0))
    assert (fast.round("10", others="2.9"), Fleet().round("10", others="2.9")) == (4, 2)


def test_distances_from_the_mean_are_thresholds_too() -> None:
    fleet = Fleet(deviation=True, low={"cpu": 5}, high={"cpu": 20})
    assert fleet.round() == 3  # the mean is 33 %, so the threshold is 53 %


HOSTS = "kubernetes.io/hostname"


@pytest.mark.parametrize(("least", "moved"), [(2, 3), (3, 0)])
def test_no_pod_moves_with_fewer_receivers_than_the_minimum(least: int, moved: int) -> None:
    assert Fleet(minReceivers=least).round() == moved


def test_pods_move_within_their_pool() -> None:
    fleet = Fleet(pools=[{"nodeSelector": f"{HOSTS} in (hot,b)"}, {}])
    assert fleet.round() == 3
    assert {move.target for move in fleet.at.plane.controllers.unloading.latest} == {"b"}


def test_nodes_of_no_pool_are_left_alone() -> None:
    assert (
        Fleet(pools=[{"nodeSelector": f"{HOSTS}=a"}, {"nodeSelector": f"{HOSTS}=b"}]).round() == 0
    )


def test_each_pool_has_its_own_thresholds() -> None:
    pools = [{"nodeSelector": f"{HOSTS}=a", "low": {"cpu": 5}}, {"high": {"cpu": 70}}]
    assert Fleet(pools=pools).round() == 1


@pytest.mark.parametrize(
    ("rules", "moved"),
    [
        ({"namespaces": {"exclude": ["default"]}}, 0),
        ({"namespaces": {"include": ["other"]}}, 0),
        ({"namespaces": {"include": ["default", "other"]}}, 3),
        ({"podSelectors": ["app=web"]}, 0),
        ({"podSelectors": ["app=web", "!app"]}, 3),
    ],
)
def test_only_the_chosen_pods_move(rules: dict[str, object], moved: int) -> None:
    assert Fleet(**rules).round() == moved


def test_use_that_left_with_its_pod_makes_no_node_hot() -> None:
    fleet = Fleet(dryRun=True)
    fleet.report("8", "1")
    fleet.at.store.delete(POD, [Deletion("default", f"p{number}") for number in range(3)])
    assert fleet.pass_round() == 0


def test_no_pod_without_a_controller_moves() -> None:
    fleet = Fleet(pods=0)
    lone = json.loads(make_pod("lone", cpu="1"))
    lone["spec"]["nodeName"] = "hot"
    fleet.at.submit(json.dumps(lone).encode())
    fleet.at.settle()
    assert fleet.round() == 0


def test_pods_with_a_host_port_stay() -> None:
    fleet = Fleet(pods=0)
    for port in range(1, 9):
        pod = json.loads(owned(f"p{port}"))
        pod["spec"]["containers"][0]["ports"] = [{"containerPort": port, "hostPort": port}]
        fleet.at.submit(json.dumps(pod).encode())
    fleet.at.settle()
    assert fleet.round() == 0


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ({"low": {"cpu": 60}, "high": {"cpu": 50}}, r"rebalance\.low\.cpu: got 60"),
        ({"low": {"gpu": 60}}, "cpu or memory"),
        ({"moves": 0}, r"rebalance\.moves"),
        ({"pools": [{}, {"high": {"cpu": 20}}]}, r"rebalance\.pools\[1\]\.low\.cpu: got 30"),
        ({"pools": []}, "at least one pool"),
        ({"nodeSelector": "a=,,"}, r"rebalance\.nodeSelector"),
        ({"podSelectors": ["a in"]}, r"rebalance\.podSelectors\[0\]"),
        ({"low": {"cpu": 1, "memory": 1}}, r"rebalance\.high\.memory.*both thresholds"),
        ({"weights": {"cpu": 0}}, r"rebalance\.weights\.cpu"),
        ({"anomaly": {"abnormal": 0}}, r"rebalance\.anomaly\.abnormal"),
        ({"anomaly": {"timeoutSeconds": 0}}, r"rebalance\.anomaly\.timeoutSeconds"),
        ({"minReceivers": 0}, r"rebalance\.minReceivers"),
        ({"namespaces": {"include": ["a"], "exclude": ["b"]}}, "include or exclude"),
        ({"cpuSpeeds": {"label": "x", "factors": {"a": 0}}}, r"cpuSpeeds\.factors\.a"),
    ],
)
def test_an_invalid_section_is_refused_with_its_path(form: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        read_hot_nodes(RULES | form, "rebalance")


def test_an_unknown_setting_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UnknownNameError, match="everySeconds"):
        read_hot_nodes(RULES | {"every": 3}, "rebalance")


def test_a_pool_has_the_settings_beside_the_pools_where_it_has_none() -> None:
    pools = [{"nodeSelector": "tier=batch", "deviation": True}, {}]
    rules = read_hot_nodes(RULES | {"weights": {"cpu": 2}, "pools": pools}, "rebalance")
    first = LoadPool("tier=batch", {"cpu": 30}, {"cpu": 50}, True, {"cpu": 2}, AnomalyRule(1))
    second = msgspec.structs.replace(first, node_selector="", deviation=False)
    assert rules is not None
    assert rules.pools == (first, second)


@given(
    use=st.lists(st.tuples(st.integers(0, 12_000), st.integers(0, 64 << 30)), min_size=1),
    deviation=st.booleans(),
)
def test_columns_find_the_same_hot_and_low_nodes_as_the_rules_of_koordinator(
    use: list[tuple[int, int]], deviation: bool
) -> None:
    use = use[:6]
    names = [f"n{i}" for i in range(len(use))]
    at = Harness([make_node(name, cpu="10", memory="64Gi") for name in names])
    at.settle()
    reports, slots = at.plane.cluster.nodes.reports, at.plane.cluster.nodes.slots_named(names)
    reports.grow(int(slots.max()) + 1)
    reports.used[slots], reports.measured_s[slots] = np.array(use), 1000.0
    reports.version += 1
    percents = ({"cpu": 30.0, "memory": 40.0}, {"cpu": 50.0, "memory": 60.0})
    pool = LoadPool("", *percents, deviation=deviation)
    (loads,) = loads_of_pools(at.plane.cluster, HotNodeRules(60, (pool,)))
    whole = {"cpu": 10_000, "memory": 64 << 30}
    members = [
        LoadedMember(name, whole, whole, dict(zip(("cpu", "memory"), each, strict=True)), {})
        for name, each in zip(names, use, strict=True)
    ]
    limits = LoadLimits(Percents(*percents), deviation=deviation)
    found = classify(members, bounds(members, limits))
    hot = {names[i] for i in np.flatnonzero(loads.is_hot).tolist()}
    assert hot == {each.name for each in found[LoadClass.HIGH]}
