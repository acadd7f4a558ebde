"""A local cluster: workloads over the API become pods, and what is deleted ends."""

import json
from typing import Any

import pytest

from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.stores.embedded.memory import MemoryStore
from stretto.web.api.message import ApiRequest, ApiResponse
from stretto.web.api.server import ApiServer, ApiSettings
from stretto.web.local.cluster import LocalClusterProcess, LocalParts

PODS = "/api/v1/namespaces/shop/pods"
DEPLOYMENTS = "/apis/apps/v1/namespaces/shop/deployments"


class Cluster:
    def __init__(self) -> None:
        self.clock = ManualClock(1_790_000_000.0)
        store = MemoryStore(self.clock, Rng(1))
        self.server = ApiServer(store, ApiSettings(self.clock, Rng(2)))
        self.process = LocalClusterProcess(self.server, store, self.clock, LocalParts())
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
        self.send("POST", "/api/v1/namespaces", namespace)

    def send(self, method: str, target: str, body: Any = None) -> Any:
        headers = {"content-type": "application/json"}
        data = b"" if body is None else json.dumps(body).encode()
        answer = self.server.handle(ApiRequest(method, target, headers, data))
        assert isinstance(answer, ApiResponse)
        return json.loads(answer.body)

    def settle(self) -> None:
        for _ in range(10):
            self.process.step()
            self.clock.advance(0.5)


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


def deployment(replicas: int) -> dict[str, Any]:
    labels = {"app": "web"}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": pod}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": spec,
    }


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
