"""The scheduler in a cluster: real programs, few writes per pod, no change to foreign objects."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stretto_lab.control_plane.cluster import ControlPlane, ControlPlaneConfig
from stretto_lab.control_plane.credentials import CertificateUser
from tests.e2e.daemon import (
    Daemon,
    bound,
    group,
    groups,
    item,
    kubectl,
    member,
    node,
    pod,
    pods_of,
    put,
    rights_settle,
    until,
    why,
)

pytestmark = pytest.mark.kube

ROLE = Path(__file__).resolve().parents[2] / "deploy" / "rbac-scheduler.yaml"
NODES = "/api/v1/nodes"


@pytest.fixture(scope="module")
def cluster() -> Iterator[ControlPlane]:
    """A cluster with controllers and simulated kubelets."""
    users = (CertificateUser("stretto-scheduler"), CertificateUser("guest"))
    parts = ("kube-controller-manager", "kwok")
    with ControlPlane(ControlPlaneConfig(parts=parts, users=users, audited=True)) as plane:
        plane.install()
        kubectl(plane, "apply", "-f", str(ROLE))
        rights_settle(plane)
        put(plane, NODES, *(node(f"n{number}") for number in range(4)))
        until(lambda: taints(plane) == [], lambda: taints(plane))
        yield plane


@pytest.fixture(scope="module")
def daemon(cluster: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """A scheduler under the role that it is shipped with."""
    log = tmp_path_factory.mktemp("daemon") / "log"
    with Daemon(cluster.kubeconfig_of("stretto-scheduler"), log) as daemon:
        yield daemon.ready()


def test_a_deployment_runs_and_a_job_finishes(
    cluster: ControlPlane, daemon: Daemon, space: str
) -> None:
    template = {k: v for k, v in pod("x").items() if k in ("metadata", "spec")}
    template["metadata"] = {"labels": {"app": "web"}}
    spec = {"replicas": 20, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    deployment = {"metadata": {"name": "web"}, "spec": spec}
    put(cluster, f"/apis/apps/v1/namespaces/{space}/deployments", deployment)
    once = {"metadata": {}, "spec": {**template["spec"], "restartPolicy": "Never"}}
    job = {"metadata": {"name": "sum"}, "spec": {"completions": 4, "parallelism": 2}}
    job["spec"]["template"] = once
    put(cluster, f"/apis/batch/v1/namespaces/{space}/jobs", job)

    def done() -> bool:
        phases = Counter(each["status"].get("phase") for each in pods_of(cluster, space))
        return (phases["Running"], phases["Succeeded"]) == (20, 4)

    until(done, daemon.part.log_tail)
    assert "sum" in kubectl(cluster, "get", "jobs", "-n", space, "-o", "name")


def test_pods_of_others_are_not_touched_and_what_they_hold_is_counted(
    cluster: ControlPlane, daemon: Daemon, space: str
) -> None:
    path = f"/api/v1/namespaces/{space}/pods"
    here = {"only": space}
    _labelled(cluster, f"only-{space}", here, cpu="4")
    put(cluster, path, pod("theirs", "3", schedulerName="other", nodeName=f"only-{space}"))
    put(cluster, path, pod("waits-for-them", "1", schedulerName="other"))
    put(cluster, path, pod("small", "1", nodeSelector=here), pod("big", "2", nodeSelector=here))
    until(lambda: "small" in bound(cluster, space), daemon.part.log_tail)
    until(lambda: "Insufficient cpu" in why(cluster, "big", space), daemon.part.log_tail)
    assert set(bound(cluster, space)) == {"theirs", "small"}


def test_a_pod_itself_is_written_once(cluster: ControlPlane, daemon: Daemon, space: str) -> None:
    path = f"/api/v1/namespaces/{space}/pods"
    names = {f"once-{number}" for number in range(10)}
    put(cluster, path, *(pod(name, "10m") for name in names))
    until(lambda: len(bound(cluster, space)) == 10, daemon.part.log_tail)

    def done() -> Counter[str]:
        calls = cluster.audit("stretto-scheduler")
        mine = [call for call in calls if call.object_ref.name in names and call.verb != "get"]
        return Counter(call.what for call in mine if call.response_status.code < 400)

    until(lambda: done()["create pods/binding"] >= 10, done)  # recorded after completion
    assert done() == {"create pods/binding": 10}  # one that goes unanswered may be sent again


def test_kubectl_shows_where_a_pod_was_assigned(
    cluster: ControlPlane, daemon: Daemon, space: str
) -> None:
    put(cluster, f"/api/v1/namespaces/{space}/pods", pod("web", "10m"))
    until(lambda: "web" in bound(cluster, space), daemon.part.log_tail)
    message = f"Successfully assigned {space}/web to {bound(cluster, space)['web']}"
    until(
        lambda: message in kubectl(cluster, "describe", "pod", "web", "-n", space),
        daemon.part.log_tail,
    )


def test_a_gang_starts_whole_or_waits(cluster: ControlPlane, daemon: Daemon, space: str) -> None:
    here = {"gang": space}
    _labelled(cluster, f"gang-{space}", here, cpu="2")
    put(cluster, groups(space), group("ring", 3))
    members = [member(f"m{number}", "ring", nodeSelector=here) for number in range(3)]
    put(cluster, f"/api/v1/namespaces/{space}/pods", *members)
    until(lambda: "ring" in why(cluster, "m0", space), daemon.part.log_tail)
    assert bound(cluster, space) == {}
    _labelled(cluster, f"more-{space}", here, cpu="2")
    until(lambda: len(bound(cluster, space)) == 3, daemon.part.log_tail)


def test_probes_and_metrics_are_served(cluster: ControlPlane, daemon: Daemon, space: str) -> None:
    put(cluster, f"/api/v1/namespaces/{space}/pods", pod("counted", "10m"))
    for path in ("/livez", "/healthz"):
        until(lambda path=path: daemon.page(path) == (200, "ok\n"), daemon.part.log_tail)
    counter = 'scheduler_schedule_attempts_total{profile="stretto",result="scheduled"}'
    until(lambda: counter in daemon.page("/metrics")[1], daemon.part.log_tail)
    until(lambda: daemon.page("/debug/pprof")[0] == 404, daemon.part.log_tail)


def test_its_log_is_json_and_holds_no_token(cluster: ControlPlane, daemon: Daemon) -> None:
    text = daemon.part.log.read_text()
    assert {"time", "level", "message"} <= set(json.loads(text.splitlines()[0]))
    assert cluster.credentials.tokens["stretto-scheduler"] not in text


def test_its_role_lets_it_do_all_that_it_tries(cluster: ControlPlane, daemon: Daemon) -> None:
    calls = cluster.audit("stretto-scheduler")
    assert {"list pods", "watch pods", "create pods/binding"} <= {call.what for call in calls}
    assert {call.what for call in calls if call.response_status.code == 403} == set()


def test_without_rights_it_ends_and_names_verb_and_resource(
    cluster: ControlPlane, tmp_path: Path
) -> None:
    poor = Daemon(cluster.kubeconfig_of("guest"), tmp_path / "log", "--no-leader-elect")
    with poor:
        until(lambda: not poor.part.is_running, poor.part.log_tail)
        assert "list priorityclasses.scheduling.k8s.io is not allowed" in poor.part.log_tail()


def taints(plane: ControlPlane) -> list[Any]:
    """All taints of nodes; new ones have some until a controller sees that they are ready."""
    items = item(plane, NODES)["items"]
    return [taint for each in items for taint in each["spec"].get("taints", ())]


def _labelled(plane: ControlPlane, name: str, labels: dict[str, str], cpu: str) -> None:
    """A node with labels of its own."""
    body = json.loads(node(name, cpu))
    body["metadata"]["labels"] = labels
    put(plane, NODES, body)
