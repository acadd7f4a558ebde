"""`stretto scaler` beside kube-scheduler, under the rights that are shipped: two replicas."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from stretto.api.wire.kinds import (
    NODE_OVERCOMMIT_CONFIG,
    POD_METRICS,
    SCALING_POLICY,
    TIDE_NODE_POOL,
    VERTICAL_CHECKPOINT,
    VERTICAL_POD_AUTOSCALER,
)
from stretto.base.clock import WallClock, timestamp
from stretto.cli.main import cli
from stretto.stores.kube.paths import collection_path, object_path
from stretto_lab.control_plane.cluster import ControlPlane, ControlPlaneConfig
from stretto_lab.control_plane.crds import PATH, UNAPPROVED
from stretto_lab.control_plane.credentials import CertificateUser
from tests.e2e.daemon import SCALER, Daemon, item, kubectl, put, ready_nodes, rights_settle, until

pytestmark = pytest.mark.kube

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
PARTS = ("kube-controller-manager", "kube-scheduler", "kwok")
USER = "stretto-scaler"
PREFIX = "tide.katalyst.kubewharf.io"
OFFLINE = {"key": f"{PREFIX}/online-not-used", "value": "true", "effect": "NoExecute"}
MARKS = {f"{PREFIX}/node-pool": "tidal", f"{PREFIX}/node-type": "offline"}
MARKS |= {f"{PREFIX}/reserve": "false", f"{PREFIX}/tide": "true"}
KINDS = (
    SCALING_POLICY,
    TIDE_NODE_POOL,
    NODE_OVERCOMMIT_CONFIG,
    VERTICAL_POD_AUTOSCALER,
    VERTICAL_CHECKPOINT,
)
WORDS = ("--profile=kube-parity", "--scheduler-name=default-scheduler")


@pytest.fixture(scope="module")
def cluster() -> Iterator[ControlPlane]:
    """A cluster with all controllers, and an account with the shipped rights."""
    config = ControlPlaneConfig(parts=PARTS, users=(CertificateUser(USER),), audited=True)
    with ControlPlane(config) as plane:
        files = [DEPLOY / "crds" / f"{each.plural}.yaml" for each in KINDS]
        for file in (*files, DEPLOY / "rbac-scaler.yaml"):
            kubectl(plane, "apply", "-f", str(file))
        plane.install(KINDS)
        rights_settle(plane)
        ready_nodes(plane, "east", cpu="2", site="east")
        ready_nodes(plane, "west", cpu="8", site="west")
        yield plane


@pytest.fixture(scope="module")
def daemons(
    cluster: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[list[Daemon]]:
    """A leader and its standby."""
    folder, config = tmp_path_factory.mktemp("scaler"), cluster.kubeconfig_of(USER)
    found = [Daemon(config, folder / name, *WORDS, verb=SCALER) for name in ("one", "two")]
    with ExitStack() as running:
        running.enter_context(found[0])
        found[0].ready()
        running.enter_context(found[1])
        until(found[1].stands_by, found[1].part.log_tail)
        yield found


def deployment(name: str, **pod: Any) -> dict[str, Any]:
    """A Deployment of one-core pods without replicas."""
    labels = pod.pop("labels", {"app": name})
    container = {"name": "c", "image": "x", "resources": {"requests": {"cpu": "1"}}}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container], **pod}}
    spec = {"replicas": 0, "selector": {"matchLabels": labels}, "template": template}
    return {"metadata": {"name": name}, "spec": spec}


def replicas(cluster: ControlPlane, space: str) -> dict[str, int]:
    found = item(cluster, f"/apis/apps/v1/namespaces/{space}/deployments")["items"]
    return {each["metadata"]["name"]: each["spec"]["replicas"] for each in found}


def running(cluster: ControlPlane, space: str, app: str) -> int:
    path = f"/api/v1/namespaces/{space}/pods?labelSelector=app%3D{app}"
    return sum("nodeName" in each["spec"] for each in item(cluster, path)["items"])


def test_replicas_that_fit_nowhere_go_to_the_next_group(
    cluster: ControlPlane, daemons: list[Daemon], space: str
) -> None:
    path = f"/apis/apps/v1/namespaces/{space}/deployments"
    put(cluster, path, *(deployment(n, nodeSelector={"site": n}) for n in ("east", "west")))
    groups = [
        {"name": n, "priority": p, "max": 9, "targetRef": {"kind": "Deployment", "name": n}}
        for p, n in enumerate(("east", "west"))
    ]
    policy = {
        "apiVersion": SCALING_POLICY.api_version,
        "kind": SCALING_POLICY.kind,
        "metadata": {"name": "web"},
        "spec": {"replicas": 5, "groups": groups},
    }
    put(cluster, collection_path(SCALING_POLICY, space), policy)
    wanted = {"east": 2, "west": 3}
    until(lambda: replicas(cluster, space) == wanted, daemons[0].part.log_tail)
    status = item(cluster, object_path(SCALING_POLICY, space, "web"))["status"]
    assert (status["replicas"], status["unmet"]) == (5, 0)


def test_a_tidal_node_switches_for_a_pending_online_pod(
    cluster: ControlPlane, daemons: list[Daemon], space: str
) -> None:
    ready_nodes(cluster, "tide", cpu="2", pool="t", **MARKS)
    taint = json.dumps({"spec": {"taints": [OFFLINE]}}).encode()
    assert cluster.send("PATCH", "/api/v1/nodes/tide", taint).status == 200
    path = f"/apis/apps/v1/namespaces/{space}/deployments"
    for app, side, other in (("batch", "offline", "online"), ("web", "online", "offline")):
        labels = {"app": app, f"{PREFIX}/pod-type": side}
        tolerated = [{"key": f"{PREFIX}/{other}-not-used", "operator": "Exists"}]
        selector = {f"{PREFIX}/node-type": side}
        body = deployment(app, labels=labels, nodeSelector=selector, tolerations=tolerated)
        put(cluster, path, body)
    scale(cluster, f"{path}/batch", 2)
    until(lambda: running(cluster, space, "batch") == 2, daemons[0].part.log_tail)
    spec = {"nodeConfigs": {"nodeSelector": {"pool": "t"}}, "evictStrategy": {"type": "watermark"}}
    pool = {"apiVersion": TIDE_NODE_POOL.api_version, "kind": "TideNodePool", "spec": spec}
    put(cluster, collection_path(TIDE_NODE_POOL, ""), {**pool, "metadata": {"name": "tidal"}})
    scale(cluster, f"{path}/web", 1)
    until(lambda: running(cluster, space, "web") == 1, daemons[0].part.log_tail)
    until(lambda: running(cluster, space, "batch") == 0, daemons[0].part.log_tail)
    until(lambda: effects(cluster) == {"offline-not-used": "NoExecute"}, daemons[0].part.log_tail)


def test_the_nodes_of_an_overcommit_pool_are_listed(
    cluster: ControlPlane, daemons: list[Daemon]
) -> None:
    ready_nodes(cluster, "over", **{"katalyst.kubewharf.io/overcommit_node_pool": "o"})
    kind = NODE_OVERCOMMIT_CONFIG
    spec = {"nodeOvercommitSelectorVal": "o", "resourceOvercommitRatio": {"cpu": "2"}}
    body = {"apiVersion": kind.api_version, "kind": kind.kind, "spec": spec}
    put(cluster, collection_path(kind, ""), {**body, "metadata": {"name": "o"}})

    def listed() -> bool:
        status = item(cluster, object_path(kind, "", "o")).get("status", {})
        return bool(status.get("matchedNodeList") == ["over"])

    until(listed, daemons[0].part.log_tail)


def serve_metrics(cluster: ControlPlane) -> None:
    """Serve metrics.k8s.io from stored objects, in the place of an aggregated server."""
    open_schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": POD_METRICS.version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": open_schema},
    }
    kind = POD_METRICS
    names = {"kind": kind.kind, "plural": kind.plural, "singular": "podmetrics"}
    spec = {"group": kind.group, "names": names, "scope": "Namespaced", "versions": [version]}
    head = {"name": kind.resource, "annotations": UNAPPROVED}
    put(cluster, PATH, {"metadata": head, "spec": spec})
    path = f"/apis/{kind.api_version}/{kind.plural}"
    until(lambda: cluster.send("GET", path).status == 200, lambda: path)


def autoscaler(cluster: ControlPlane, space: str) -> dict[str, dict[str, Any]]:
    """Status of the autoscaler; conditions by type."""
    status = item(cluster, object_path(VERTICAL_POD_AUTOSCALER, space, "web")).get("status", {})
    conditions = {each["type"]: each for each in status.get("conditions", ())}
    return {**status, "conditions": conditions}


def vertical(name: str = "web") -> dict[str, Any]:
    """An autoscaler of a Deployment."""
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": name}
    kind = VERTICAL_POD_AUTOSCALER
    spec = {"targetRef": target, "updatePolicy": {"updateMode": "Off"}}
    head = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": name}}
    return {**head, "spec": spec}


def run_pod(cluster: ControlPlane, space: str) -> str:
    """Start a Deployment with one pod; return the name of the pod."""
    path = f"/apis/apps/v1/namespaces/{space}/deployments"
    put(cluster, path, deployment("web"))
    scale(cluster, f"{path}/web", 1)
    until(lambda: running(cluster, space, "web") == 1, lambda: space)
    pods = item(cluster, f"/api/v1/namespaces/{space}/pods")["items"]
    return str(pods[0]["metadata"]["name"])


def test_a_cluster_without_metrics_reports_it(
    cluster: ControlPlane, daemons: list[Daemon], space: str
) -> None:
    run_pod(cluster, space)
    put(cluster, collection_path(VERTICAL_POD_AUTOSCALER, space), vertical())

    def stated() -> bool:
        found = autoscaler(cluster, space)["conditions"].get("Measured", {})
        return found.get("reason") == "MetricsUnreadable"

    until(stated, daemons[0].part.log_tail)


def test_measured_pods_have_a_recommendation_and_a_checkpoint(
    cluster: ControlPlane, daemons: list[Daemon], space: str
) -> None:
    serve_metrics(cluster)
    pod = run_pod(cluster, space)
    use = [{"name": "c", "usage": {"cpu": "200m", "memory": "300Mi"}}]
    head = {"apiVersion": POD_METRICS.api_version, "kind": "PodMetrics", "metadata": {"name": pod}}
    at = timestamp(int(WallClock().now()))
    found = {**head, "timestamp": at, "window": "15s", "containers": use}
    put(cluster, collection_path(POD_METRICS, space), found)
    put(cluster, collection_path(VERTICAL_POD_AUTOSCALER, space), vertical())
    until(lambda: bool(autoscaler(cluster, space).get("recommendation")), daemons[0].part.log_tail)
    [container] = autoscaler(cluster, space)["recommendation"]["containerRecommendations"]
    assert container["target"] == {"cpu": "247m", "memory": "380258472"}
    path = collection_path(VERTICAL_CHECKPOINT, space)
    until(lambda: bool(item(cluster, path)["items"]), daemons[0].part.log_tail)
    [stored] = item(cluster, path)["items"]
    assert stored["status"]["totalSamplesCount"] == 1
    words = ["recommend", "--kubeconfig", str(cluster.kubeconfig), "-n", space, "-o", "json"]
    done = CliRunner().invoke(cli, words)
    found = {each["resource"]: each for each in json.loads(done.stdout)["items"]}
    assert (found["cpu"]["target"], found["cpu"]["request"]) == (247, 1000)


def test_the_standby_takes_over(cluster: ControlPlane, daemons: list[Daemon], space: str) -> None:
    daemons[0].part.stop()
    daemons[1].ready()
    put(cluster, f"/apis/apps/v1/namespaces/{space}/deployments", deployment("west"))
    group = {"name": "west", "max": 9, "targetRef": {"kind": "Deployment", "name": "west"}}
    policy = {
        "apiVersion": SCALING_POLICY.api_version,
        "kind": SCALING_POLICY.kind,
        "metadata": {"name": "web"},
        "spec": {"replicas": 1, "groups": [group]},
    }
    put(cluster, collection_path(SCALING_POLICY, space), policy)
    until(lambda: replicas(cluster, space) == {"west": 1}, daemons[1].part.log_tail)


def test_the_manifest_is_accepted_by_the_server(cluster: ControlPlane) -> None:
    done = kubectl(cluster, "apply", "--dry-run=server", "-f", str(DEPLOY / "scaler.yaml"))
    assert "deployment.apps/stretto-scaler created (server dry run)" in done


def test_the_account_may_do_all_that_it_tries(cluster: ControlPlane) -> None:
    calls = cluster.audit(USER)
    tried = {each.what for each in calls}
    assert {"patch scalingpolicies/status", "patch nodes", "list pods"} <= tried
    assert {"patch verticalpodautoscalers/status"} <= tried
    assert {each.what for each in calls if each.response_status.code == 403} == set()


def scale(cluster: ControlPlane, path: str, count: int) -> None:
    body = json.dumps({"spec": {"replicas": count}}).encode()
    assert cluster.send("PATCH", path, body).status == 200


def effects(cluster: ControlPlane) -> dict[str, str]:
    """Effects of the taints of the pool, by the end of their key."""
    taints = item(cluster, "/api/v1/nodes/tide")["spec"].get("taints", [])
    own = [each for each in taints if each["key"].startswith(PREFIX)]
    return {each["key"].rpartition("/")[2]: each["effect"] for each in own}
