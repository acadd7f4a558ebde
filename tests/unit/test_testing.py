"""The public builders and the harness: what they promise in their docstrings."""

import json
from typing import Any

import pytest

from stretto import testing
from stretto.api.wire.kinds import NODE, POD
from stretto.base.rng import Rng
from stretto.state.cluster.config import ClusterConfig
from stretto.stores.embedded.memory import MemoryStore
from stretto.testing import Harness, make_group, make_node, make_pod


def read(body: bytes) -> Any:
    return json.loads(body)


def test_the_example_of_the_module_runs() -> None:
    code = [line[4:] for line in (testing.__doc__ or "").splitlines() if line.startswith("    ")]
    exec("\n".join(code), {"Harness": Harness, "make_node": make_node, "make_pod": make_pod})


def test_a_node_has_amounts_and_its_name_as_a_label() -> None:
    node = read(make_node("n", cpu="4", gpus=2, model="A", zone="z"))
    assert node["status"]["allocatable"] == {
        "cpu": "4", "memory": "32Gi", "pods": "110", "nvidia.com/gpu": "2",
    }  # fmt: skip
    assert set(node["metadata"]["labels"].values()) == {"n", "z", "A", "linux", "amd64"}


def test_a_node_may_be_cordoned_and_tainted() -> None:
    taint = {"key": "t", "effect": "NoSchedule"}
    spec = read(make_node("n", unschedulable=True, taints=[taint]))["spec"]
    assert spec == {"taints": [taint], "unschedulable": True}


def test_a_pod_requests_this_scheduler() -> None:
    assert read(make_pod("p"))["spec"]["schedulerName"] == "stretto"
    assert read(make_pod("p", scheduler="x"))["spec"]["schedulerName"] == "x"


def test_what_a_pod_requests_is_in_its_container() -> None:
    container = read(make_pod("p", cpu="2", gpus=1, ports=[80]))["spec"]["containers"][0]
    assert container["resources"]["requests"] == {
        "cpu": "2", "memory": "128Mi", "nvidia.com/gpu": "1",
    }  # fmt: skip
    assert container["ports"] == [{"containerPort": 80, "hostPort": 80}]


def test_a_pods_group_owner_and_node_are_where_they_belong() -> None:
    pod = read(make_pod("p", group="g", owner={"kind": "Job"}, node="n", priority=3))
    assert set(pod["metadata"]["annotations"].values()) == {"g"}
    assert pod["metadata"]["ownerReferences"] == [{"kind": "Job"}]
    assert (pod["spec"]["nodeName"], pod["spec"]["priority"]) == ("n", 3)


def test_a_group_names_how_many_must_fit() -> None:
    spec = read(make_group("g", 3, scheduleTimeoutSeconds=9))["spec"]
    assert spec == {"minMember": 3, "scheduleTimeoutSeconds": 9}


def test_builders_make_what_the_store_and_the_cluster_can_read() -> None:
    harness = Harness([make_node("n", gpus=2, model="A", zone="z", resources={"x.io/a": "1"})])
    harness.group("g", 1, queueName="q")
    harness.submit(make_pod("p", gpus=1, gpu_milli=300, gpu_models="A|B", group="g"))
    harness.settle()
    assert (harness.node_of("p"), harness.plane.cluster.abnormal) == ("n", {})


def test_a_refusal_of_the_store_fails_the_test() -> None:
    harness = Harness([make_node("n")])
    with pytest.raises(AssertionError, match="refused"):
        harness.create(NODE, make_node("n"))


def test_placements_are_those_of_one_namespace() -> None:
    harness = Harness([make_node("n")])
    harness.submit(make_pod("a"), make_pod("b", namespace="other"))
    harness.settle()
    assert (harness.placements(), harness.placements("other")) == ({"a": "n"}, {"b": "n"})


def test_a_pod_that_is_not_there_is_on_no_node() -> None:
    assert Harness().node_of("absent") == ""


def test_a_deleted_pod_is_removed_from_its_node() -> None:
    harness = Harness([make_node("n")])
    harness.submit(make_pod("p"))
    harness.settle()
    harness.delete("p")
    harness.settle()
    assert not harness.plane.cluster.ledger.used.any()
    assert harness.store.get(POD, "default", "p") is None


def test_settling_lets_virtual_time_pass() -> None:
    harness = Harness()
    before = harness.clock.monotonic()
    harness.settle(seconds=60.0)
    assert harness.clock.monotonic() == pytest.approx(before + 60.0)


def test_config_overrides_what_the_plane_is_built_from() -> None:
    cluster = ClusterConfig(default_priority=7)
    harness = Harness(config={"shards": 3, "cluster": cluster}, profile="packing")
    assert (len(harness.plane.shards), harness.plane.cluster.config.default_priority) == (3, 7)
    assert harness.plane.config.profile.name == "packing"


def test_a_given_store_is_used() -> None:
    store = MemoryStore(Harness().clock, Rng(0))
    Harness([make_node("n")], store=store)
    assert store.get(NODE, "", "n") is not None
