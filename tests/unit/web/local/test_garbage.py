"""Garbage collection in a local cluster: orphan, foreground and background deletion."""

from typing import Any

import pytest

from tests.unit.web.local.clusters import DEPLOYMENTS, PODS, Cluster, deployment

Json = dict[str, Any]

MAPS = "/api/v1/namespaces/shop/configmaps"
SETS = "/apis/apps/v1/namespaces/shop/replicasets"


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


def made(cluster: Cluster, name: str, *owners: Json, blocks: bool = True, **more: Any) -> Json:
    """A ConfigMap with owners that are ConfigMaps."""
    references = [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "name": owner["metadata"]["name"],
            "uid": owner["metadata"]["uid"],
            "blockOwnerDeletion": blocks,
        }
        for owner in owners
    ]
    metadata = {"name": name, "ownerReferences": references, **more}
    return cluster.send("POST", MAPS, {"metadata": metadata})


def delete(cluster: Cluster, name: str, policy: str) -> None:
    cluster.send("DELETE", f"{MAPS}/{name}", {"propagationPolicy": policy})
    cluster.settle()


def names(cluster: Cluster) -> set[str]:
    found = {each["metadata"]["name"] for each in cluster.send("GET", MAPS)["items"]}
    return found - {"kube-root-ca.crt"}


def test_an_object_goes_with_its_last_owner(cluster: Cluster) -> None:
    first, second = made(cluster, "first"), made(cluster, "second")
    made(cluster, "child", first, second)
    delete(cluster, "first", "Background")
    child = cluster.send("GET", f"{MAPS}/child")
    assert [each["name"] for each in child["metadata"]["ownerReferences"]] == ["second"]
    delete(cluster, "second", "Background")
    assert names(cluster) == set()


def test_an_object_whose_owner_never_existed_is_deleted(cluster: Cluster) -> None:
    made(cluster, "child", {"metadata": {"name": "other", "uid": "no-such-uid"}})
    cluster.settle()
    assert names(cluster) == set()


def test_an_owner_of_a_kind_that_is_not_served_deletes_nothing(cluster: Cluster) -> None:
    owner = {"apiVersion": "shop.example/v1", "kind": "Cart", "name": "c", "uid": "u"}
    cluster.send("POST", MAPS, {"metadata": {"name": "child", "ownerReferences": [owner]}})
    cluster.settle()
    assert names(cluster) == {"child"}


def test_orphans_keep_no_reference_and_stay(cluster: Cluster) -> None:
    made(cluster, "child", made(cluster, "parent"))
    delete(cluster, "parent", "Orphan")
    assert names(cluster) == {"child"}
    assert "ownerReferences" not in cluster.send("GET", f"{MAPS}/child")["metadata"]


def test_replica_sets_of_an_orphaning_deployment_stay_with_their_pods(cluster: Cluster) -> None:
    cluster.send("POST", DEPLOYMENTS, deployment(2))
    cluster.settle()
    cluster.send("DELETE", f"{DEPLOYMENTS}/web", {"propagationPolicy": "Orphan"})
    cluster.settle()
    assert cluster.send("GET", DEPLOYMENTS)["items"] == []
    assert len(cluster.send("GET", SETS)["items"]) == 1
    assert len(cluster.send("GET", PODS)["items"]) == 2


def test_an_owner_waits_in_the_foreground_for_dependents_that_block_it(cluster: Cluster) -> None:
    made(cluster, "child", made(cluster, "parent"), finalizers=["shop.example/hold"])
    delete(cluster, "parent", "Foreground")
    assert names(cluster) == {"child", "parent"}
    cluster.send("PUT", f"{MAPS}/child", {"metadata": {"name": "child"}})
    cluster.settle()
    assert names(cluster) == set()


def test_an_owner_does_not_wait_for_dependents_that_do_not_block_it(cluster: Cluster) -> None:
    parent = made(cluster, "parent")
    made(cluster, "child", parent, blocks=False, finalizers=["shop.example/hold"])
    delete(cluster, "parent", "Foreground")
    assert names(cluster) == {"child"}


def test_a_chain_ends_in_the_foreground_from_its_last_link(cluster: Cluster) -> None:
    parent = made(cluster, "parent")
    child = made(cluster, "child", parent)
    made(cluster, "grandchild", child, finalizers=["shop.example/hold"])
    delete(cluster, "parent", "Foreground")
    assert names(cluster) == {"parent", "child", "grandchild"}
    cluster.send("PUT", f"{MAPS}/grandchild", {"metadata": {"name": "grandchild"}})
    cluster.settle()
    assert names(cluster) == set()


def test_a_deployment_ends_in_the_foreground_after_its_pods(cluster: Cluster) -> None:
    cluster.send("POST", DEPLOYMENTS, deployment(2))
    cluster.settle()
    cluster.send("DELETE", f"{DEPLOYMENTS}/web", {"propagationPolicy": "Foreground"})
    cluster.settle()
    for path in (DEPLOYMENTS, SETS, PODS):
        assert cluster.send("GET", path)["items"] == []


def test_owners_in_a_circle_do_not_wait_for_each_other(cluster: Cluster) -> None:
    first = made(cluster, "first")
    last = made(cluster, "last", made(cluster, "middle", first))
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "last", "blockOwnerDeletion": True}
    references = [{**owner, "uid": last["metadata"]["uid"]}]
    cluster.send("PATCH", f"{MAPS}/first", {"metadata": {"ownerReferences": references}})
    delete(cluster, "first", "Foreground")
    assert names(cluster) == set()
