"""Endpoints of Services in a local cluster."""

from typing import Any

import pytest

from tests.unit.web.local.clusters import PODS, Cluster, Json, pod

SERVICES = "/api/v1/namespaces/shop/services"
ENDPOINTS = "/api/v1/namespaces/shop/endpoints/web"


@pytest.fixture
def cluster() -> Cluster:
    return Cluster(nodes=1)


def serve(cluster: Cluster, target: int | str = 8080) -> None:
    spec = {"selector": {"app": "web"}, "ports": [{"port": 80, "targetPort": target}]}
    body = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": spec}
    cluster.send("POST", SERVICES, body)
    made = pod("a", node="n0", labels={"app": "web"})
    made["spec"]["containers"][0]["ports"] = [{"name": "http", "containerPort": 9090}]
    cluster.send("POST", PODS, made)
    cluster.settle()


def subset(cluster: Cluster) -> Json:
    found: Any = cluster.send("GET", ENDPOINTS)["subsets"]
    return dict(found[0])


def test_ready_pods_are_addresses_with_their_node(cluster: Cluster) -> None:
    serve(cluster)
    address = subset(cluster)["addresses"][0]
    assert (address["nodeName"], address["targetRef"]["name"]) == ("n0", "a")
    assert subset(cluster)["ports"] == [{"port": 8080, "protocol": "TCP"}]


def test_a_named_port_is_that_of_the_pod(cluster: Cluster) -> None:
    serve(cluster, "http")
    assert subset(cluster)["ports"][0]["port"] == 9090


def test_a_deleted_pod_is_no_address(cluster: Cluster) -> None:
    serve(cluster)
    cluster.send("DELETE", f"{PODS}/a")
    cluster.settle()
    assert "subsets" not in cluster.send("GET", ENDPOINTS)


def test_endpoints_go_with_their_service(cluster: Cluster) -> None:
    serve(cluster)
    cluster.send("DELETE", f"{SERVICES}/web")
    cluster.settle()
    assert cluster.send("GET", ENDPOINTS)["code"] == 404


def test_endpoints_of_another_controller_stay(cluster: Cluster) -> None:
    cluster.settle()
    kubernetes = "/api/v1/namespaces/default/endpoints/kubernetes"
    assert cluster.send("GET", kubernetes)["subsets"]
