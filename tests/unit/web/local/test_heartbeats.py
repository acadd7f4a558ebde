"""Leases of simulated nodes, and nodes whose heartbeats stop."""

import pytest

from tests.unit.web.local.clusters import PODS, Cluster, Json, pod

LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
STOPPED = {"metadata": {"annotations": {"stretto.dev/heartbeat": "stopped"}}}
LIMITED = {
    "key": "broken",
    "operator": "Exists",
    "effect": "NoExecute",
    "tolerationSeconds": 20,
}
RUNNING = {"metadata": {"annotations": {"stretto.dev/heartbeat": None}}}


@pytest.fixture
def cluster() -> Cluster:
    cluster = Cluster(nodes=2)
    cluster.settle()
    return cluster


def renewed(cluster: Cluster, name: str) -> str:
    return str(cluster.send("GET", f"{LEASES}/{name}")["spec"]["renewTime"])


def ready(cluster: Cluster, name: str) -> tuple[str, list[str]]:
    """The status of a node's condition Ready, and the effects of its taints."""
    node: Json = cluster.send("GET", f"/api/v1/nodes/{name}")
    (status,) = (c["status"] for c in node["status"]["conditions"] if c["type"] == "Ready")
    return status, [each["effect"] for each in node["spec"].get("taints", ())]


def stop(cluster: Cluster) -> None:
    cluster.send("PATCH", "/api/v1/nodes/n0", STOPPED)
    cluster.settle(60)


def test_each_node_has_a_lease_that_is_renewed(cluster: Cluster) -> None:
    before = renewed(cluster, "n0"), renewed(cluster, "n1")
    cluster.settle(15)
    assert (renewed(cluster, "n0") > before[0], renewed(cluster, "n1") > before[1]) == (True, True)


def test_a_lease_belongs_to_its_node(cluster: Cluster) -> None:
    cluster.send("DELETE", "/api/v1/nodes/n1")
    cluster.settle()
    assert [each["metadata"]["name"] for each in cluster.send("GET", LEASES)["items"]] == ["n0"]


def test_a_node_whose_heartbeats_stop_becomes_unreachable(cluster: Cluster) -> None:
    stop(cluster)
    assert ready(cluster, "n0") == ("Unknown", ["NoSchedule", "NoExecute"])
    assert ready(cluster, "n1") == ("True", [])


def test_a_node_whose_heartbeats_return_is_ready_again(cluster: Cluster) -> None:
    stop(cluster)
    cluster.send("PATCH", "/api/v1/nodes/n0", RUNNING)
    cluster.settle()
    assert ready(cluster, "n0") == ("True", [])


def test_pods_run_on_simulated_nodes_beside_external_controllers() -> None:
    cluster = Cluster(nodes=1, controllers=False)
    cluster.send("POST", PODS, pod("web", node="n0"))
    cluster.settle()
    assert cluster.send("GET", f"{PODS}/web")["status"]["phase"] == "Running"
    cluster.send("DELETE", f"{PODS}/web")
    cluster.settle()
    assert cluster.send("GET", PODS)["items"] == []


def test_external_controllers_mark_silent_nodes_themselves() -> None:
    cluster = Cluster(nodes=1, controllers=False)
    cluster.settle()
    stop(cluster)
    assert ready(cluster, "n0") == ("True", [])


def names(cluster: Cluster) -> list[str]:
    return [each["metadata"]["name"] for each in cluster.send("GET", PODS)["items"]]


def test_pods_leave_a_silent_node_after_five_minutes(cluster: Cluster) -> None:
    cluster.send("POST", PODS, pod("web", node="n0"))
    stop(cluster)
    assert names(cluster) == ["web"]
    cluster.settle(300)
    assert names(cluster) == []


@pytest.mark.parametrize(
    ("toleration", "after"),
    [
        (None, []),
        ({"key": "broken", "operator": "Exists"}, ["web"]),
        (LIMITED, []),
        ({"key": "other", "operator": "Exists"}, []),
        ({"key": "broken", "value": "x", "effect": "NoExecute"}, ["web"]),
    ],
)
def test_a_taint_evicts_pods_that_do_not_tolerate_it(
    cluster: Cluster, toleration: Json | None, after: list[str]
) -> None:
    body = pod("web", node="n0")
    body["spec"]["tolerations"] = [toleration] if toleration is not None else []
    assert cluster.send("POST", PODS, body)["kind"] == "Pod"
    taint = {"key": "broken", "value": "x", "effect": "NoExecute"}
    cluster.send("PATCH", "/api/v1/nodes/n0", {"spec": {"taints": [taint]}})
    cluster.settle(30)
    assert names(cluster) == after


def test_a_limited_toleration_keeps_a_pod_until_its_time_is_over(cluster: Cluster) -> None:
    body = pod("web", node="n0")
    body["spec"]["tolerations"] = [LIMITED]
    assert cluster.send("POST", PODS, body)["kind"] == "Pod"
    taint = {"key": "broken", "effect": "NoExecute"}
    cluster.send("PATCH", "/api/v1/nodes/n0", {"spec": {"taints": [taint]}})
    cluster.settle(10)
    assert names(cluster) == ["web"]
