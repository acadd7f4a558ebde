"""metrics.k8s.io of a local cluster, as ``kubectl top`` reads it."""

from typing import Any

import pytest

from tests.unit.web.local.clusters import DEPLOYMENTS, PODS, Cluster, deployment, pod

TOP = "/apis/metrics.k8s.io/v1beta1"
SHOP = f"{TOP}/namespaces/shop/pods"
TABLE = {"accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}


@pytest.fixture
def cluster() -> Cluster:
    return Cluster(nodes=1)


def usage(cluster: Cluster, name: str) -> dict[str, str]:
    found: dict[str, str] = cluster.send("GET", f"{SHOP}/{name}")["containers"][0]["usage"]
    return found


def run(cluster: Cluster, **parts: Any) -> None:
    assert cluster.send("POST", PODS, pod("p", node="n0", **parts))["kind"] == "Pod"
    cluster.settle()


def test_a_pod_uses_a_part_of_its_requests(cluster: Cluster) -> None:
    run(cluster, requests={"cpu": "1", "memory": "1000Mi"})
    assert usage(cluster, "p") == {"cpu": "850m", "memory": "700Mi"}


def test_a_pod_uses_what_it_states(cluster: Cluster) -> None:
    run(cluster, requests={"cpu": "1"}, annotations={"stretto.dev/use": "cpu=2,memory=1Gi"})
    assert usage(cluster, "p") == {"cpu": "2", "memory": "1Gi"}


def test_the_pods_of_a_workload_share_its_load(cluster: Cluster) -> None:
    body = deployment(4, node="n0")
    body["metadata"]["annotations"] = {"stretto.dev/load": "cpu=2"}
    cluster.send("POST", DEPLOYMENTS, body)
    cluster.settle()
    found = cluster.send("GET", SHOP)["items"]
    assert [each["containers"][0]["usage"]["cpu"] for each in found] == ["500m"] * 4


def test_a_pod_without_a_node_has_no_metrics(cluster: Cluster) -> None:
    cluster.send("POST", PODS, pod("p"))
    cluster.settle()
    assert cluster.send("GET", f"{SHOP}/p")["code"] == 404


def test_a_node_uses_the_sum_of_its_pods(cluster: Cluster) -> None:
    for name in "ab":
        note = {"stretto.dev/use": "cpu=300m,memory=64Mi"}
        cluster.send("POST", PODS, pod(name, node="n0", annotations=note))
    cluster.settle()
    assert cluster.send("GET", f"{TOP}/nodes/n0")["usage"] == {"cpu": "600m", "memory": "128Mi"}


def test_a_node_with_an_agent_uses_what_was_measured(cluster: Cluster) -> None:
    cluster.report("n0", cpu="7", memory="3Gi")
    cluster.settle()
    found = cluster.send("GET", f"{TOP}/nodes/n0")
    assert found["usage"] == {"cpu": "7", "memory": "3Gi"}


def test_metrics_are_selected_by_label(cluster: Cluster) -> None:
    cluster.send("POST", PODS, pod("a", node="n0", labels={"app": "a"}))
    cluster.send("POST", PODS, pod("b", node="n0", labels={"app": "b"}))
    cluster.settle()
    found = cluster.send("GET", f"{SHOP}?labelSelector=app%3Db")["items"]
    assert [each["metadata"]["name"] for each in found] == ["b"]


def test_metrics_are_printed_as_a_table(cluster: Cluster) -> None:
    note = {"stretto.dev/use": "cpu=300m,memory=64Mi"}
    run(cluster, annotations=note)
    table = cluster.send("GET", SHOP, headers=TABLE)
    assert [each["name"] for each in table["columnDefinitions"]] == [
        "Name",
        "CPU",
        "Memory",
        "Window",
    ]
    assert table["rows"][0]["cells"] == ["p", "300m", "64Mi", "15s"]


def test_discovery_lists_the_metrics_with_their_verbs(cluster: Cluster) -> None:
    found = cluster.send("GET", TOP)["resources"]
    assert [(each["name"], each["kind"], each["verbs"]) for each in found] == [
        ("nodes", "NodeMetrics", ["get", "list"]),
        ("pods", "PodMetrics", ["get", "list"]),
    ]


def test_openapi_describes_the_metrics(cluster: Cluster) -> None:
    document = cluster.send("GET", "/openapi/v3/apis/metrics.k8s.io/v1beta1")
    assert "io.k8s.metrics.pkg.apis.metrics.v1beta1.PodMetrics" in document["components"]["schemas"]


def test_metrics_cannot_be_written_or_watched(cluster: Cluster) -> None:
    assert cluster.send("DELETE", f"{SHOP}/p")["code"] == 405
    assert cluster.send("GET", f"{SHOP}?watch=true")["code"] == 405


@pytest.mark.parametrize("text", ["", "cpu", "cpu=many", "gpu=1", "cpu=1,cpu=2", "cpu=-1"])
def test_a_malformed_use_is_refused_with_its_path(cluster: Cluster, text: str) -> None:
    answer = cluster.send("POST", PODS, pod("p", annotations={"stretto.dev/use": text}))
    assert answer["code"] == 422
    assert "metadata.annotations[stretto.dev/use]" in answer["message"]


def test_a_malformed_use_in_a_template_is_refused(cluster: Cluster) -> None:
    body = deployment(1)
    body["spec"]["template"]["metadata"]["annotations"] = {"stretto.dev/use": "cpu=x"}
    answer = cluster.send("POST", DEPLOYMENTS, body)
    assert "spec.template.metadata.annotations[stretto.dev/use]" in answer["message"]


def test_the_right_to_view_pods_includes_their_metrics(cluster: Cluster) -> None:
    roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
    rules = cluster.send("GET", f"{roles}/view")["rules"]
    assert any("metrics.k8s.io" in each["apiGroups"] for each in rules)


def test_a_report_that_no_machine_can_make_counts_as_none(cluster: Cluster) -> None:
    run(cluster, annotations={"stretto.dev/use": "cpu=2,memory=1Gi"})
    cluster.report("n0", cpu="1e30", memory="3Gi")
    cluster.settle()
    assert cluster.send("GET", f"{TOP}/nodes/n0")["usage"]["cpu"] == "2"


def test_simulated_nodes_have_metrics_beside_external_controllers() -> None:
    cluster = Cluster(nodes=1, controllers=False)
    run(cluster, annotations={"stretto.dev/use": "cpu=2,memory=1Gi"})
    assert usage(cluster, "p") == {"cpu": "2", "memory": "1Gi"}
