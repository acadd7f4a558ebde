"""ResourceQuotas of a local cluster: counted after creations and deletions, and enforced."""

from typing import Any

import pytest

from tests.unit.web.local.clusters import DEPLOYMENTS, PODS, Cluster, deployment, pod

QUOTAS = "/api/v1/namespaces/shop/resourcequotas"
SERVICES = "/api/v1/namespaces/shop/services"


@pytest.fixture
def cluster() -> Cluster:
    return Cluster(nodes=1)


def quota(cluster: Cluster, **hard: str) -> None:
    names = {key.replace("_", "/", 1).replace("_", "."): each for key, each in hard.items()}
    body = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}}
    cluster.send("POST", QUOTAS, {**body, "spec": {"hard": names}})
    cluster.settle()


def used(cluster: Cluster) -> dict[str, Any]:
    cluster.settle()
    found: dict[str, Any] = cluster.send("GET", f"{QUOTAS}/q")["status"]["used"]
    return found


def test_a_new_quota_counts_what_exists(cluster: Cluster) -> None:
    cluster.send("POST", PODS, pod("a", node="n0", requests={"cpu": "2"}))
    quota(cluster, pods="5", cpu="10")
    assert used(cluster) == {"pods": "1", "cpu": "2"}


def test_a_deleted_pod_no_longer_counts(cluster: Cluster) -> None:
    quota(cluster, pods="5")
    cluster.send("POST", PODS, pod("a", node="n0"))
    assert used(cluster) == {"pods": "1"}
    cluster.send("DELETE", f"{PODS}/a")
    assert used(cluster) == {"pods": "0"}


def test_a_pod_beyond_the_quota_is_refused_until_another_one_ends(cluster: Cluster) -> None:
    quota(cluster, pods="1")
    cluster.send("POST", PODS, pod("a", node="n0"))
    assert "exceeded quota: q" in cluster.send("POST", PODS, pod("b"))["message"]
    cluster.send("DELETE", f"{PODS}/a")
    cluster.settle()
    assert cluster.send("POST", PODS, pod("b"))["metadata"]["name"] == "b"


def test_objects_are_counted_by_kind(cluster: Cluster) -> None:
    quota(cluster, count_deployments_apps="2", services="1")
    cluster.send("POST", DEPLOYMENTS, deployment(0))
    service = {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}}
    cluster.send("POST", SERVICES, {"apiVersion": "v1", "kind": "Service", **service})
    assert used(cluster) == {"count/deployments.apps": "1", "services": "1"}
    cluster.send("DELETE", f"{SERVICES}/s")
    assert used(cluster)["services"] == "0"


def test_a_changed_limit_is_taken_over(cluster: Cluster) -> None:
    quota(cluster, pods="1")
    cluster.send("PATCH", f"{QUOTAS}/q", {"spec": {"hard": {"pods": "3"}}})
    cluster.settle()
    assert cluster.send("GET", f"{QUOTAS}/q")["status"]["hard"] == {"pods": "3"}


def test_a_replica_set_reports_the_pod_that_a_quota_refuses(cluster: Cluster) -> None:
    quota(cluster, pods="1")
    cluster.send("POST", DEPLOYMENTS, deployment(2, node="n0"))
    cluster.settle()
    events = cluster.send("GET", "/api/v1/namespaces/shop/events")["items"]
    refused = [each["message"] for each in events if each["reason"] == "FailedCreate"]
    assert "exceeded quota: q" in refused[0]


def test_a_deployment_reports_each_change_of_a_replica_set(cluster: Cluster) -> None:
    cluster.send("POST", DEPLOYMENTS, deployment(2, node="n0"))
    cluster.settle()
    cluster.send("PATCH", f"{DEPLOYMENTS}/web", {"spec": {"replicas": 3}})
    cluster.settle()
    events = cluster.send("GET", "/api/v1/namespaces/shop/events")["items"]
    scaled = [each["message"] for each in events if each["reason"] == "ScalingReplicaSet"]
    assert [text.partition(" from ")[2] for text in sorted(scaled)] == ["0 to 2", "2 to 3"]


PVCS = "/api/v1/namespaces/shop/persistentvolumeclaims"
CLAIMS = "/apis/resource.k8s.io/v1/namespaces/shop/resourceclaims"
GOLD = "gold.deviceclass.resource.k8s.io/devices"


def claim(cluster: Cluster, **request: Any) -> None:
    body = {"metadata": {"name": "c"}, "spec": {"devices": {"requests": [request]}}}
    assert "uid" in cluster.send("POST", CLAIMS, body)["metadata"]


def pvc(class_: str | None) -> Any:
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
        "storageClassName": "",
        "volumeAttributesClassName": class_,
    }
    return {"metadata": {"name": "v"}, "spec": spec}


def scoped(cluster: Cluster, name: str, operator: str, *values: str) -> None:
    """Create a quota for one PVC whose class is selected."""
    scope = {"scopeName": "VolumeAttributesClass", "operator": operator, "values": list(values)}
    spec = {
        "hard": {"persistentvolumeclaims": "1"},
        "scopeSelector": {"matchExpressions": [scope]},
    }
    made = cluster.send("POST", QUOTAS, {"metadata": {"name": name}, "spec": spec})
    assert "uid" in made["metadata"], made


@pytest.mark.parametrize(
    ("request_", "count"),
    [
        ({"exactly": {"deviceClassName": "gold"}}, "1"),
        ({"exactly": {"deviceClassName": "gold", "count": 3}}, "3"),
        ({"exactly": {"deviceClassName": "gold", "allocationMode": "All"}}, "32"),
        ({"exactly": {"deviceClassName": "silver"}}, "0"),
        (
            {
                "firstAvailable": [
                    {"name": "a", "deviceClassName": "gold", "count": 2},
                    {"name": "b", "deviceClassName": "gold", "count": 4},
                ]
            },
            "4",
        ),
    ],
)
def test_devices_of_claims_are_counted_by_class(
    cluster: Cluster, request_: Any, count: str
) -> None:
    hard = {GOLD: "50"}
    cluster.send("POST", QUOTAS, {"metadata": {"name": "q"}, "spec": {"hard": hard}})
    cluster.settle()
    claim(cluster, name="r", **request_)
    assert used(cluster) == {GOLD: count}


@pytest.mark.parametrize(
    ("class_", "operator", "values", "count"),
    [
        ("gold", "In", ["gold"], "1"),
        ("silver", "In", ["gold"], "0"),
        (None, "In", ["gold"], "0"),
        ("gold", "Exists", [], "1"),
        (None, "Exists", [], "0"),
        ("silver", "NotIn", ["gold"], "1"),
    ],
)
def test_a_scope_selects_claims_by_their_attributes_class(
    cluster: Cluster, class_: str | None, operator: str, values: list[str], count: str
) -> None:
    scoped(cluster, "q", operator, *values)
    assert "uid" in cluster.send("POST", PVCS, pvc(class_))["metadata"]
    assert used(cluster) == {"persistentvolumeclaims": count}


def test_a_claim_that_changes_its_class_counts_for_both(cluster: Cluster) -> None:
    scoped(cluster, "q", "In", "silver")
    made = cluster.send("POST", PVCS, pvc("gold"))
    status = {"phase": "Bound", "currentVolumeAttributesClassName": "gold"}
    cluster.send("PUT", f"{PVCS}/v/status", {**made, "status": status})
    cluster.send("PATCH", f"{PVCS}/v", {"spec": {"volumeAttributesClassName": "silver"}})
    assert used(cluster) == {"persistentvolumeclaims": "1"}


def test_a_pod_that_enters_a_scope_is_charged(cluster: Cluster) -> None:
    spec = {"hard": {"pods": "1"}, "scopes": ["Terminating"]}
    cluster.send("POST", QUOTAS, {"metadata": {"name": "q"}, "spec": spec})
    cluster.send("POST", PODS, pod("a", node="n0"))
    cluster.settle()
    cluster.send("PATCH", f"{PODS}/a", {"spec": {"activeDeadlineSeconds": 600}})
    assert cluster.send("GET", f"{QUOTAS}/q")["status"]["used"] == {"pods": "1"}


def test_a_pod_that_leaves_a_scope_is_no_longer_counted(cluster: Cluster) -> None:
    spec = {"hard": {"pods": "1"}, "scopes": ["NotTerminating"]}
    cluster.send("POST", QUOTAS, {"metadata": {"name": "q"}, "spec": spec})
    cluster.send("POST", PODS, pod("a", node="n0"))
    assert used(cluster) == {"pods": "1"}
    cluster.send("PATCH", f"{PODS}/a", {"spec": {"activeDeadlineSeconds": 600}})
    assert used(cluster) == {"pods": "0"}
