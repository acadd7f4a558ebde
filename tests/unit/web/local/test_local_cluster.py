"""A local cluster: workloads over the API become pods, and what is deleted ends."""

import pytest

from tests.unit.web.local.clusters import DEPLOYMENTS, PODS, Cluster, deployment


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


def test_a_deployment_gets_pods_with_the_defaults_of_the_api(cluster: Cluster) -> None:
    cluster.send("POST", DEPLOYMENTS, deployment(3))
    cluster.settle()
    pods = cluster.send("GET", PODS)["items"]
    assert len(pods) == 3
    assert {pod["spec"]["schedulerName"] for pod in pods} == {"default-scheduler"}


def test_the_pods_of_a_deleted_deployment_go(cluster: Cluster) -> None:
    cluster.send("POST", DEPLOYMENTS, deployment(2))
    cluster.settle()
    cluster.send("DELETE", f"{DEPLOYMENTS}/web")
    cluster.settle()
    assert cluster.send("GET", PODS)["items"] == []


def test_a_bound_pod_that_is_deleted_ends_at_once(cluster: Cluster) -> None:
    spec = {"nodeName": "n", "containers": [{"name": "c", "image": "i"}]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}
    cluster.send("POST", PODS, pod)
    assert cluster.send("DELETE", f"{PODS}/p")["metadata"]["deletionGracePeriodSeconds"] == 30
    cluster.settle()
    assert cluster.send("GET", f"{PODS}/p")["reason"] == "NotFound"


def test_a_deleted_namespace_goes_with_its_content(cluster: Cluster) -> None:
    cluster.send("POST", DEPLOYMENTS, deployment(1))
    cluster.settle()
    cluster.send("DELETE", "/api/v1/namespaces/shop")
    cluster.settle()
    assert cluster.send("GET", "/api/v1/namespaces/shop")["reason"] == "NotFound"
    assert cluster.send("GET", PODS)["items"] == []


def test_a_new_namespace_gets_an_account_and_the_authority(cluster: Cluster) -> None:
    cluster.settle()
    accounts = cluster.send("GET", "/api/v1/namespaces/shop/serviceaccounts")["items"]
    maps = cluster.send("GET", "/api/v1/namespaces/shop/configmaps")["items"]
    names = [each["metadata"]["name"] for each in (*accounts, *maps)]
    assert names == ["default", "kube-root-ca.crt"]


def test_a_changed_authority_is_restored(cluster: Cluster) -> None:
    path = "/api/v1/namespaces/shop/configmaps/kube-root-ca.crt"
    cluster.settle()
    before = cluster.send("GET", path)["data"]
    cluster.send("PATCH", path, {"data": {"ca.crt": "other", "more": "text"}})
    cluster.settle()
    assert cluster.send("GET", path)["data"] == before


def test_one_step_leaves_a_part_of_much_work_so_that_requests_are_answered(
    cluster: Cluster,
) -> None:
    for number in range(200):
        named = {"metadata": {"name": f"d{number}"}}
        cluster.send("POST", DEPLOYMENTS, deployment(0) | named)
    assert cluster.process.step()
    found = cluster.send("GET", DEPLOYMENTS)["items"]
    assert any("observedGeneration" not in each.get("status", {}) for each in found)
