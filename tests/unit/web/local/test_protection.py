"""Volumes in use are not deleted under their pods."""

from tests.unit.web.local.clusters import PODS, Cluster, pod

CLAIMS = "/api/v1/namespaces/shop/persistentvolumeclaims"


def test_a_claim_goes_when_its_pod_has_gone() -> None:
    cluster = Cluster(nodes=1)
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    cluster.send("POST", CLAIMS, {"metadata": {"name": "data"}, "spec": spec})
    body = pod("p", "n0")
    body["spec"]["volumes"] = [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]
    cluster.send("POST", PODS, body)
    cluster.send("DELETE", f"{CLAIMS}/data")
    cluster.settle()
    assert "deletionTimestamp" in cluster.send("GET", f"{CLAIMS}/data")["metadata"]
    cluster.send("DELETE", f"{PODS}/p")
    cluster.settle()
    assert cluster.send("GET", f"{CLAIMS}/data")["reason"] == "NotFound"
