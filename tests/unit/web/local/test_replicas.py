"""ReplicaSets and ReplicationControllers adopt, release and replace pods."""

from typing import Any

import pytest

from tests.unit.web.local.clusters import PODS, Cluster, pod

Json = dict[str, Any]

SETS = {
    "ReplicaSet": "/apis/apps/v1/namespaces/shop/replicasets",
    "ReplicationController": "/api/v1/namespaces/shop/replicationcontrollers",
}


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


def create(cluster: Cluster, kind: str, replicas: int) -> None:
    labels = {"app": "web"}
    selector: Json = labels if kind == "ReplicationController" else {"matchLabels": labels}
    template = {"metadata": {"labels": labels}, "spec": pod("")["spec"]}
    spec = {"replicas": replicas, "selector": selector, "template": template}
    cluster.send("POST", SETS[kind], {"kind": kind, "metadata": {"name": "web"}, "spec": spec})
    cluster.settle(2.0)


def owners(item: Json) -> list[str]:
    return [each["kind"] for each in item["metadata"].get("ownerReferences") or ()]


@pytest.mark.parametrize("kind", SETS)
def test_as_many_pods_as_replicas_exist_and_are_counted(cluster: Cluster, kind: str) -> None:
    create(cluster, kind, 3)
    assert len(cluster.send("GET", PODS)["items"]) == 3
    assert cluster.send("GET", f"{SETS[kind]}/web")["status"]["replicas"] == 3


@pytest.mark.parametrize("kind", SETS)
def test_a_matching_pod_without_controller_is_adopted(cluster: Cluster, kind: str) -> None:
    cluster.send("POST", PODS, pod("own", labels={"app": "web"}))
    create(cluster, kind, 1)
    (only,) = cluster.send("GET", PODS)["items"]
    assert (only["metadata"]["name"], owners(only)) == ("own", [kind])


@pytest.mark.parametrize("kind", SETS)
def test_a_pod_that_comes_later_is_adopted_and_one_too_many_goes(
    cluster: Cluster, kind: str
) -> None:
    create(cluster, kind, 1)
    cluster.send("POST", PODS, pod("late", labels={"app": "web"}))
    cluster.settle(2.0)
    assert len(cluster.send("GET", PODS)["items"]) == 1


@pytest.mark.parametrize("kind", SETS)
def test_a_pod_whose_labels_match_no_longer_is_released_and_replaced(
    cluster: Cluster, kind: str
) -> None:
    create(cluster, kind, 1)
    (first,) = cluster.send("GET", PODS)["items"]
    name = first["metadata"]["name"]
    cluster.send("PATCH", f"{PODS}/{name}", {"metadata": {"labels": {"app": "other"}}})
    cluster.settle(2.0)
    found = {each["metadata"]["name"]: owners(each) for each in cluster.send("GET", PODS)["items"]}
    assert found.pop(name) == []
    assert list(found.values()) == [[kind]]


def test_a_pod_of_another_controller_is_not_adopted(cluster: Cluster) -> None:
    create(cluster, "ReplicaSet", 1)
    create(cluster, "ReplicationController", 1)
    kinds = sorted(owners(each)[0] for each in cluster.send("GET", PODS)["items"])
    assert kinds == ["ReplicaSet", "ReplicationController"]


@pytest.mark.parametrize("kind", SETS)
def test_a_refused_pod_is_a_condition_until_it_is_created(cluster: Cluster, kind: str) -> None:
    quotas = "/api/v1/namespaces/shop/resourcequotas"
    cluster.send("POST", quotas, {"metadata": {"name": "q"}, "spec": {"hard": {"pods": "1"}}})
    cluster.settle(2.0)
    create(cluster, kind, 2)
    (found,) = cluster.send("GET", f"{SETS[kind]}/web")["status"]["conditions"]
    assert (found["type"], found["reason"]) == ("ReplicaFailure", "FailedCreate")
    assert "is forbidden: exceeded quota: q" in found["message"]
    cluster.send("PATCH", f"{SETS[kind]}/web", {"spec": {"replicas": 1}})
    cluster.settle(2.0)
    assert "conditions" not in cluster.send("GET", f"{SETS[kind]}/web")["status"]
