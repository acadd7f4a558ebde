"""Namespaces that are being deleted: the order of their content, and their conditions."""

from typing import Any

import pytest

from tests.unit.web.local.clusters import PODS, Cluster

MAPS = "/api/v1/namespaces/shop/configmaps"
SPACE = "/api/v1/namespaces/shop"


@pytest.fixture
def cluster() -> Cluster:
    cluster = Cluster()
    spec = {"containers": [{"name": "c", "image": "i"}]}
    metadata = {"name": "p", "finalizers": ["shop.example/hold"]}
    cluster.send("POST", PODS, {"metadata": metadata, "spec": spec})
    cluster.send("POST", MAPS, {"metadata": {"name": "m"}})
    cluster.send("DELETE", SPACE)
    cluster.settle(1.0)
    return cluster


def conditions(cluster: Cluster) -> dict[str, Any]:
    found = cluster.send("GET", SPACE)["status"]["conditions"]
    return {each["type"]: (each["status"], each["message"]) for each in found}


def test_other_objects_stay_while_a_pod_is_left(cluster: Cluster) -> None:
    assert "deletionTimestamp" in cluster.send("GET", f"{PODS}/p")["metadata"]
    assert cluster.send("GET", f"{MAPS}/m")["metadata"]["name"] == "m"


def test_the_conditions_state_what_remains_and_why(cluster: Cluster) -> None:
    found = conditions(cluster)
    assert len(found) == 5
    assert found["NamespaceContentRemaining"] == (
        "True",
        "Some resources are remaining: pods. has 1 resource instances",
    )
    status, message = found["NamespaceFinalizersRemaining"]
    assert (status, message.rpartition(": ")[2]) == (
        "True",
        "shop.example/hold in 1 resource instances",
    )
    assert found["NamespaceDeletionContentFailure"][0] == "False"


def test_the_namespace_goes_once_nothing_holds_its_content(cluster: Cluster) -> None:
    pod = cluster.send("GET", f"{PODS}/p")
    pod["metadata"].pop("finalizers")
    cluster.send("PUT", f"{PODS}/p", pod)
    cluster.settle(1.0)
    assert cluster.send("GET", SPACE)["reason"] == "NotFound"


def test_finalizers_of_others_hold_an_empty_namespace() -> None:
    cluster = Cluster()
    space = cluster.send("GET", SPACE)
    space["metadata"]["finalizers"] = ["shop.example/hold"]
    cluster.send("PUT", SPACE, space)
    cluster.send("DELETE", SPACE)
    cluster.settle(1.0)
    held = cluster.send("GET", SPACE)
    assert (held["status"]["phase"], held["spec"].get("finalizers")) == ("Terminating", None)
    held["metadata"].pop("finalizers")
    cluster.send("PUT", SPACE, held)
    assert cluster.send("GET", SPACE)["reason"] == "NotFound"
