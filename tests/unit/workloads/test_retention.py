"""Owners of the PVCs of StatefulSets, and PVCs that are missing or about to go."""

from typing import Any

import pytest

from tests.unit.web.local.clusters import PODS, Cluster, pod

Json = dict[str, Any]

SETS = "/apis/apps/v1/namespaces/shop/statefulsets"
PVCS = "/api/v1/namespaces/shop/persistentvolumeclaims"
LABELS = {"app": "web"}
OTHER: Json = {"apiVersion": "v1", "kind": "ConfigMap", "name": "c", "uid": "u"}


@pytest.fixture
def cluster() -> Cluster:
    return Cluster(nodes=1)


def create(cluster: Cluster, **policy: str) -> None:
    """Create a StatefulSet of two pods with a PVC each."""
    pvc: Json = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    spec = {
        "replicas": 2,
        "podManagementPolicy": "Parallel",
        "selector": {"matchLabels": LABELS},
        "template": {"metadata": {"labels": LABELS}, "spec": pod("", "n0")["spec"]},
        "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": pvc}],
        "persistentVolumeClaimRetentionPolicy": {
            "whenScaled": "Retain",
            "whenDeleted": "Retain",
            **policy,
        },
    }
    made = cluster.send("POST", SETS, {"metadata": {"name": "web"}, "spec": spec})
    assert "uid" in made["metadata"], made
    cluster.settle()


def owners(cluster: Cluster, name: str = "data-web-0") -> list[tuple[str, bool]]:
    """Kind of each owner of a PVC, and whether it is the controller."""
    found = cluster.send("GET", f"{PVCS}/{name}")["metadata"].get("ownerReferences") or ()
    return [(each["kind"], bool(each.get("controller"))) for each in found]


def own(cluster: Cluster, *references: Json) -> None:
    """Set the owners of a PVC."""
    cluster.send("PATCH", f"{PVCS}/data-web-0", {"metadata": {"ownerReferences": references}})
    cluster.settle()


def set_policy(cluster: Cluster, **policy: str) -> None:
    spec = {"persistentVolumeClaimRetentionPolicy": policy}
    cluster.send("PATCH", f"{SETS}/web", {"spec": spec})
    cluster.settle()


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ({}, []),
        ({"whenDeleted": "Delete"}, [("StatefulSet", True)]),
        ({"whenScaled": "Delete"}, []),
        ({"whenScaled": "Delete", "whenDeleted": "Delete"}, [("StatefulSet", True)]),
    ],
)
def test_the_policy_decides_the_owner(
    cluster: Cluster, policy: dict[str, str], expected: list[tuple[str, bool]]
) -> None:
    create(cluster, **policy)
    assert owners(cluster) == expected


def test_an_owner_that_is_not_a_controller_stays_beside_the_set(cluster: Cluster) -> None:
    create(cluster)
    own(cluster, OTHER)
    set_policy(cluster, whenDeleted="Delete")
    assert owners(cluster) == [("ConfigMap", False), ("StatefulSet", True)]


def test_a_claim_of_another_controller_is_left_to_it(cluster: Cluster) -> None:
    create(cluster)
    own(cluster, {**OTHER, "controller": True})
    set_policy(cluster, whenDeleted="Delete")
    assert owners(cluster) == [("ConfigMap", True)]


def test_a_claim_of_a_former_set_of_the_name_is_left_alone(cluster: Cluster) -> None:
    create(cluster)
    stale = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "uid": "former"}
    claim = cluster.send("GET", f"{PVCS}/data-web-0")
    finalizers = [*claim["metadata"]["finalizers"], "example.org/keep"]
    metadata = {"finalizers": finalizers, "ownerReferences": [stale]}
    cluster.send("PATCH", f"{PVCS}/data-web-0", {"metadata": metadata})
    set_policy(cluster, whenDeleted="Delete")
    assert owners(cluster) == [("StatefulSet", False)]


def test_the_set_becomes_the_controller_again(cluster: Cluster) -> None:
    create(cluster, whenDeleted="Delete")
    (reference,) = cluster.send("GET", f"{PVCS}/data-web-0")["metadata"]["ownerReferences"]
    own(cluster, {**reference, "controller": False})
    assert owners(cluster) == [("StatefulSet", True)]


def test_a_missing_claim_is_created_again(cluster: Cluster) -> None:
    create(cluster)
    patch = {"metadata": {"finalizers": None}}
    cluster.send("PATCH", f"{PVCS}/data-web-0", patch)
    cluster.send("DELETE", f"{PVCS}/data-web-0")
    cluster.settle()
    assert cluster.send("GET", f"{PVCS}/data-web-0")["kind"] == "PersistentVolumeClaim"


def test_a_pod_waits_for_the_claim_of_its_predecessor_to_go(cluster: Cluster) -> None:
    create(cluster, whenScaled="Delete")
    keep = {"metadata": {"finalizers": ["example.org/keep"]}}
    cluster.send("PATCH", f"{PVCS}/data-web-1", keep)
    cluster.send("PATCH", f"{SETS}/web", {"spec": {"replicas": 1}})
    cluster.settle()
    cluster.send("PATCH", f"{SETS}/web", {"spec": {"replicas": 2}})
    cluster.settle()
    assert [each["metadata"]["name"] for each in cluster.send("GET", PODS)["items"]] == ["web-0"]
    cluster.send("PATCH", f"{PVCS}/data-web-1", {"metadata": {"finalizers": None}})
    cluster.settle()
    assert len(cluster.send("GET", PODS)["items"]) == 2
