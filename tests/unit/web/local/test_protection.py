"""Volumes in use are not deleted under their pods."""

from typing import Any

import pytest

from tests.unit.web.local.clusters import PODS, Cluster, pod

CLAIMS = "/api/v1/namespaces/shop/persistentvolumeclaims"


@pytest.fixture
def cluster() -> Cluster:
    """A cluster with the PVC ``data``."""
    cluster = Cluster(nodes=1)
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    cluster.send("POST", CLAIMS, {"metadata": {"name": "data"}, "spec": spec})
    return cluster


def use(cluster: Cluster, node: str) -> None:
    body = pod("p", node)
    body["spec"]["volumes"] = [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]
    cluster.send("POST", PODS, body)


def after_deletion(cluster: Cluster) -> Any:
    cluster.send("DELETE", f"{CLAIMS}/data")
    cluster.settle()
    return cluster.send("GET", f"{CLAIMS}/data")


def test_a_claim_goes_when_its_pod_has_gone(cluster: Cluster) -> None:
    use(cluster, "n0")
    assert "deletionTimestamp" in after_deletion(cluster)["metadata"]
    cluster.send("DELETE", f"{PODS}/p")
    cluster.settle()
    assert cluster.send("GET", f"{CLAIMS}/data")["reason"] == "NotFound"


def test_a_pod_without_a_node_keeps_no_claim(cluster: Cluster) -> None:
    use(cluster, "")
    assert after_deletion(cluster)["reason"] == "NotFound"
