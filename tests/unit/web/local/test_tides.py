"""Tidal pools in a local cluster: the API, its controllers and the scheduler."""

import json
from pathlib import Path
from typing import Any

import yaml

from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.framework.profile.profile import load_profile
from stretto.plane.config import PlaneConfig
from stretto.state.cluster.config import ClusterConfig
from stretto.stores.embedded.memory import MemoryStore
from stretto.web.api.message import ApiRequest, ApiResponse
from stretto.web.api.server import ApiServer, ApiSettings
from stretto.web.local.cluster import LocalClusterProcess, LocalParts
from tests.unit.web.local.clusters import node

CRD = Path(__file__).resolve().parents[4] / "deploy" / "crds" / "tidenodepools.yaml"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
POOLS = "/apis/tide.katalyst.kubewharf.io/v1alpha1/tidenodepools"


def test_nodes_of_a_pool_become_offline_when_no_online_pod_needs_them() -> None:
    clock = ManualClock(1_790_000_000.0)
    store = MemoryStore(clock, Rng(1))
    server = ApiServer(store, ApiSettings(clock, Rng(2)))
    names = ClusterConfig(scheduler_names=frozenset({"default-scheduler"}))
    plane = PlaneConfig(load_profile("default"), cluster=names, tier="numpy")
    parts = LocalParts([json.dumps(node("n0")).encode()], plane=plane)
    process = LocalClusterProcess(server, store, clock, parts)
    send(server, "POST", CRDS, yaml.safe_load(CRD.read_text(encoding="utf-8")))
    process.step()
    assert send(server, "POST", POOLS, pool())["metadata"]["name"] == "tidal"
    for _ in range(70):
        process.step()
        clock.advance(10.0)
    labels = send(server, "GET", "/api/v1/nodes/n0")["metadata"]["labels"]
    assert labels["tide.katalyst.kubewharf.io/node-type"] == "offline"
    status = send(server, "GET", f"{POOLS}/tidal")["status"]
    assert status["tideNodes"] == {"nodes": ["n0"]}


def pool() -> dict[str, Any]:
    spec = {"nodeConfigs": {"nodeSelector": {}}, "evictStrategy": {"type": "watermark"}}
    return {
        "apiVersion": "tide.katalyst.kubewharf.io/v1alpha1",
        "kind": "TideNodePool",
        "metadata": {"name": "tidal"},
        "spec": spec,
    }


def send(server: ApiServer, method: str, target: str, body: Any = None) -> Any:
    data = b"" if body is None else json.dumps(body).encode()
    answer = server.handle(ApiRequest(method, target, {"content-type": "application/json"}, data))
    assert isinstance(answer, ApiResponse)
    return json.loads(answer.body)
