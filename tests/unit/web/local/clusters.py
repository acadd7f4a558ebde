"""A local cluster on a clock that a test moves, and objects for it."""

import json
from collections.abc import Mapping
from typing import Any

from stretto.api.wire.kinds import CUSTOM_NODE_RESOURCE
from stretto.base.clock import ManualClock, timestamp
from stretto.base.rng import Rng
from stretto.stores.embedded.memory import MemoryStore
from stretto.web.api.message import ApiRequest, ApiResponse
from stretto.web.api.server import ApiServer, ApiSettings
from stretto.web.local.cluster import LocalClusterProcess, LocalParts

Json = dict[str, Any]

PODS = "/api/v1/namespaces/shop/pods"
DEPLOYMENTS = "/apis/apps/v1/namespaces/shop/deployments"


class Cluster:
    """The API with controllers and without a scheduler; namespace ``shop``."""

    def __init__(self, nodes: int = 0, *, controllers: bool = True) -> None:
        self.clock = ManualClock(1_790_000_000.0)
        store = MemoryStore(self.clock, Rng(1))
        self.server = ApiServer(store, ApiSettings(self.clock, Rng(2)))
        bodies = [json.dumps(node(f"n{number}")).encode() for number in range(nodes)]
        parts = LocalParts(bodies, controllers=controllers)
        self.process = LocalClusterProcess(self.server, store, self.clock, parts)
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
        self.send("POST", "/api/v1/namespaces", namespace)

    def send(
        self, method: str, target: str, body: Any = None, headers: Mapping[str, str] | None = None
    ) -> Any:
        media = "application/merge-patch+json" if method == "PATCH" else "application/json"
        data = b"" if body is None else json.dumps(body).encode()
        known = {"content-type": media, **(headers or {})}
        answer = self.server.handle(ApiRequest(method, target, known, data))
        assert isinstance(answer, ApiResponse)
        return json.loads(answer.body)

    def settle(self, seconds: float = 5.0) -> None:
        for _ in range(int(seconds * 2)):
            while self.process.step():
                pass
            self.clock.advance(0.5)

    def report(self, name: str, **amounts: str) -> None:
        """Store what the agent of a node has measured."""
        metric = {
            "updateTime": timestamp(self.clock.now()),
            "nodeMetric": {"genericUsage": amounts},
        }
        body = {"metadata": {"name": name}, "status": {"nodeMetricStatus": metric}}
        store = self.server.state.storage.store
        store.create(CUSTOM_NODE_RESOURCE, [json.dumps(body).encode()])


def node(name: str) -> Json:
    amounts = {"cpu": "64", "memory": "256Gi", "pods": "110"}
    return {"metadata": {"name": name}, "status": {"allocatable": amounts, "capacity": amounts}}


def pod(name: str, node: str = "", requests: Json | None = None, **metadata: Any) -> Json:
    container = {"name": "c", "image": "i", "resources": {"requests": requests or {}}}
    spec: Json = {"containers": [container], **({"nodeName": node} if node else {})}
    head = {"name": name, **metadata}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": head, "spec": spec}


def deployment(replicas: int, node: str = "", **requests: str) -> Json:
    labels = {"app": "web"}
    template = pod("", node, requests)
    template = {"metadata": {"labels": labels}, "spec": template["spec"]}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    head = {"name": "web"}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": head, "spec": spec}
