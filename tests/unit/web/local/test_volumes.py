"""PVCs of a local cluster get volumes as from a volume controller."""

from typing import Any

import pytest

from stretto.web.local.controllers import volumes
from tests.unit.web.local.clusters import PODS, Cluster, pod

CLAIMS = "/api/v1/namespaces/shop/persistentvolumeclaims"
VOLUMES = "/api/v1/persistentvolumes"
CLASSES = "/apis/storage.k8s.io/v1/storageclasses"


@pytest.fixture
def cluster() -> Cluster:
    return Cluster(1)


def claim(name: str, size: str = "1Gi", **spec: Any) -> dict[str, Any]:
    requests = {"requests": {"storage": size}}
    wanted = {"accessModes": ["ReadWriteOnce"], "resources": requests, **spec}
    return {"metadata": {"name": name}, "spec": wanted}


def volume(name: str, size: str) -> dict[str, Any]:
    spec = {"capacity": {"storage": size}, "accessModes": ["ReadWriteOnce"]}
    return {"metadata": {"name": name}, "spec": {**spec, "hostPath": {"path": "/data"}}}


def add_class(cluster: Cluster, **fields: Any) -> None:
    item = {"metadata": {"name": "fast"}, "provisioner": "disks.example.com", **fields}
    cluster.send("POST", CLASSES, item)


def test_a_claim_gets_the_smallest_volume_that_suits_it(cluster: Cluster) -> None:
    for name, size in (("big", "8Gi"), ("small", "2Gi"), ("tiny", "1Mi")):
        cluster.send("POST", VOLUMES, volume(name, size))
    cluster.settle(2.0)
    cluster.send("POST", CLAIMS, claim("data", storageClassName=""))
    cluster.settle(2.0)
    found = cluster.send("GET", f"{CLAIMS}/data")
    assert (found["spec"]["volumeName"], found["status"]["phase"]) == ("small", "Bound")
    phases = [each["status"]["phase"] for each in cluster.send("GET", VOLUMES)["items"]]
    assert phases == ["Available", "Bound", "Available"]


def test_a_claim_reports_the_attributes_class_of_its_volume(cluster: Cluster) -> None:
    made = volume("gold", "1Gi")
    made["spec"] |= {
        "volumeAttributesClassName": "gold",
        "csi": {"driver": "d", "volumeHandle": "h"},
        "claimRef": {"namespace": "shop", "name": "data"},
    }
    del made["spec"]["hostPath"]
    assert "uid" in cluster.send("POST", VOLUMES, made)["metadata"]
    wanted = {"storageClassName": "", "volumeAttributesClassName": "gold"}
    cluster.send("POST", CLAIMS, claim("data", **wanted))
    cluster.settle(2.0)
    status = cluster.send("GET", f"{CLAIMS}/data")["status"]
    assert (status["phase"], status["currentVolumeAttributesClassName"]) == ("Bound", "gold")


def test_a_local_cluster_has_a_default_class_whose_volumes_wait_for_a_pod(
    cluster: Cluster,
) -> None:
    (found,) = cluster.send("GET", CLASSES)["items"]
    assert (found["metadata"]["name"], found["volumeBindingMode"]) == (
        "standard",
        "WaitForFirstConsumer",
    )
    cluster.send("POST", CLAIMS, claim("data"))
    assert cluster.send("GET", f"{CLAIMS}/data")["spec"]["storageClassName"] == "standard"


def test_external_controllers_bring_their_own_class() -> None:
    assert Cluster(1, controllers=False).send("GET", CLASSES)["items"] == []


def test_an_immediate_class_provisions_a_volume(cluster: Cluster) -> None:
    add_class(cluster)
    cluster.send("POST", CLAIMS, claim("data", storageClassName="fast"))
    cluster.settle(2.0)
    found = cluster.send("GET", f"{CLAIMS}/data")
    made = cluster.send("GET", f"{VOLUMES}/pvc-{found['metadata']['uid']}")
    assert found["status"]["capacity"] == {"storage": "1Gi"}
    assert (made["status"]["phase"], made["spec"]["claimRef"]["name"]) == ("Bound", "data")


def test_a_class_that_waits_provisions_once_a_node_is_selected(cluster: Cluster) -> None:
    add_class(cluster, volumeBindingMode="WaitForFirstConsumer")
    cluster.send("POST", CLAIMS, claim("data", storageClassName="fast"))
    cluster.settle(2.0)
    before = cluster.send("GET", f"{CLAIMS}/data")["status"]["phase"]
    node = {"annotations": {"volume.kubernetes.io/selected-node": "n0"}}
    cluster.send("PATCH", f"{CLAIMS}/data", {"metadata": node})
    cluster.settle(2.0)
    assert (before, cluster.send("GET", f"{CLAIMS}/data")["status"]["phase"]) == (
        "Pending",
        "Bound",
    )


def test_a_claim_without_class_and_volume_waits_for_a_volume(cluster: Cluster) -> None:
    cluster.send("POST", CLAIMS, claim("data", storageClassName=""))
    cluster.settle(2.0)
    before = cluster.send("GET", f"{CLAIMS}/data")["status"]["phase"]
    cluster.send("POST", VOLUMES, volume("late", "2Gi"))
    cluster.settle(2.0)
    assert (before, cluster.send("GET", f"{CLAIMS}/data")["spec"]["volumeName"]) == (
        "Pending",
        "late",
    )


@pytest.mark.parametrize(("policy", "left"), [("Delete", []), ("Retain", ["Released"])])
def test_the_policy_decides_what_becomes_of_the_volume(
    cluster: Cluster, policy: str, left: list[str]
) -> None:
    add_class(cluster, reclaimPolicy=policy)
    cluster.send("POST", CLAIMS, claim("data", storageClassName="fast"))
    cluster.settle(2.0)
    cluster.send("DELETE", f"{CLAIMS}/data")
    cluster.settle(3.0)
    assert [each["status"]["phase"] for each in cluster.send("GET", VOLUMES)["items"]] == left


def test_a_mounted_claim_keeps_its_volume_until_the_pod_is_gone(cluster: Cluster) -> None:
    add_class(cluster)
    cluster.send("POST", CLAIMS, claim("data", storageClassName="fast"))
    mounted = pod("web", "n0")
    mounted["spec"]["volumes"] = [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]
    cluster.send("POST", PODS, mounted)
    cluster.settle(2.0)
    cluster.send("DELETE", f"{CLAIMS}/data")
    cluster.settle(2.0)
    assert len(cluster.send("GET", VOLUMES)["items"]) == 1
    cluster.send("DELETE", f"{PODS}/web")
    cluster.settle(3.0)
    assert cluster.send("GET", VOLUMES)["items"] == []


def test_the_table_of_volumes_is_built_once_for_many_claims(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = []
    table = volumes.VolumeTable
    monkeypatch.setattr(volumes, "VolumeTable", lambda each: (built.append(1), table(each))[1])
    for number in range(10):
        cluster.send("POST", CLAIMS, claim(f"c{number}", storageClassName=""))
        cluster.send("POST", VOLUMES, volume(f"v{number}", f"{number + 1}Gi"))
        cluster.settle(1.0)
    claims = cluster.send("GET", CLAIMS)["items"]
    assert (len(built), {each["status"]["phase"] for each in claims}) == (1, {"Bound"})


def test_a_volume_makes_only_the_claims_due_that_it_may_suit(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, chosen in (("waits", "standard"), ("fits", "")):
        cluster.send("POST", CLAIMS, claim(name, storageClassName=chosen))
    cluster.settle(2.0)
    choose, seen = volumes.chosen_volume, []
    monkeypatch.setattr(
        volumes, "chosen_volume", lambda *each: (seen.append(each[0]), choose(*each))[1]
    )
    cluster.send("POST", VOLUMES, volume("late", "2Gi"))
    cluster.settle(2.0)
    assert {each["metadata"]["name"] for each in seen} == {"fits"}


def test_a_claim_is_bound_to_a_volume_that_is_freed_by_hand(cluster: Cluster) -> None:
    kept = volume("kept", "2Gi")
    kept["spec"]["claimRef"] = {"namespace": "other", "name": "gone"}
    cluster.send("POST", VOLUMES, kept)
    cluster.send("POST", CLAIMS, claim("data", storageClassName=""))
    cluster.settle(2.0)
    before = cluster.send("GET", f"{CLAIMS}/data")["status"]["phase"]
    cluster.send("PATCH", f"{VOLUMES}/kept", {"spec": {"claimRef": None}})
    cluster.settle(2.0)
    after = cluster.send("GET", f"{CLAIMS}/data")["status"]["phase"]
    assert (before, after) == ("Pending", "Bound")
