"""`stretto master` over a real API server, with the account and the rights of its manifests.

The nodes are simulated by kwok.
"""

import http.client
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import yaml

from stretto_lab.control_plane.cluster import ControlPlane, ControlPlaneConfig
from stretto_lab.control_plane.parts import ServerProcess, free_ports
from tests.e2e.daemon import node, pod, put, rights_settle, until
from tests.e2e.deployed import ROOT, shell
from tests.e2e.mesos.subscriber import Subscriber

pytestmark = pytest.mark.kube

PODS = "/api/v1/namespaces/default/pods"
WITHIN = 120.0
ACCOUNT = "system:serviceaccount:mesos:stretto-master"
PARTS = ("kube-controller-manager", "kwok")
UNUSED = {
    "create pods/eviction",
    "patch persistentvolumeclaims",
    "patch persistentvolumes",
    "create events",
    "patch events",
    "patch pods/status",
    "patch podgroups",
    "patch podgroups/status",
    "patch queues/status",
    "create reservations",
    "delete reservations",
    "patch reservations/status",
    "create movements",
    "get movements",
    "patch movements/status",
    "get pods",
    "get customresourcedefinitions",
}
"""Rights of a scheduler that this test does not use."""


@pytest.fixture(scope="module")
def cluster() -> Iterator[ControlPlane]:
    with ControlPlane(ControlPlaneConfig(parts=PARTS, audited=True)) as plane:
        plane.install()
        body = json.loads(node("n1", "4"))
        body["metadata"]["labels"] = {"rack": "k1"}
        put(plane, "/api/v1/nodes", body)
        yield plane


class Masters:
    """Masters of one cluster as processes."""

    def __init__(self, cluster: ControlPlane, directory: Path) -> None:
        self.ports = free_ports(2)
        applied = shell(cluster, "kubectl apply -f deploy/rbac-master.yaml", directory)
        assert applied.returncode == 0, applied.stderr
        rights_settle(cluster)
        token = shell(cluster, "kubectl -n mesos create token stretto-master", directory).stdout
        user = {"token": token.strip()}
        self.kubeconfig = cluster.credentials.kubeconfig("master", cluster.server, user)
        self.parts = [self._part(cluster, directory, port) for port in self.ports]

    def _part(self, cluster: ControlPlane, directory: Path, port: int) -> ServerProcess:
        command = [sys.executable, "-m", "stretto.cli.main", "master", "--port", str(port)]
        command += ["--kubeconfig", str(self.kubeconfig), "--tier", "numpy"]
        command += ["--lease-duration", "8", "--namespace", "mesos"]
        command += ["--advertise", f"localhost:{port}"]
        return ServerProcess(f"stretto master {port}", command, directory / f"{port}.log")

    def release(self) -> "subprocess.CompletedProcess[str]":
        """Run the command that follows the last master."""
        line = [sys.executable, "-m", "stretto.cli.main", "master", "--release"]
        line += ["--kubeconfig", str(self.kubeconfig), "--namespace", "mesos"]
        return subprocess.run(line, capture_output=True, text=True, timeout=60, check=False)

    def get(self, number: int, path: str) -> tuple[int, str]:
        """Status and Location of a GET; 0 before the process listens."""
        connection = http.client.HTTPConnection("127.0.0.1", self.ports[number], timeout=10)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.getheader("Location", "")
        except OSError as error:
            return 0, str(error)
        finally:
            connection.close()

    def leads(self, number: int) -> bool:
        return self.get(number, "/state")[0] == 200

    def said(self) -> str:
        return "\n".join(part.log_tail() for part in self.parts)


@pytest.fixture
def masters(cluster: ControlPlane, tmp_path: Path) -> Iterator[Masters]:
    found = Masters(cluster, tmp_path)
    found.parts[0].start()
    until(lambda: found.leads(0), found.said, WITHIN)
    yield found
    for part in found.parts:
        part.stop()


def placed(cluster: ControlPlane) -> dict[str, str]:
    """Name prefix and phase of the pods on nodes."""
    items = json.loads(cluster.send("GET", "/api/v1/pods").body)["items"]
    return {e["metadata"]["name"]: e["status"]["phase"] for e in items if e["spec"].get("nodeName")}


def test_tasks_are_pods_and_another_master_takes_over(
    cluster: ControlPlane, masters: Masters
) -> None:
    with closing(Subscriber(masters.ports[0])) as framework:
        framework_id = run_task(cluster, masters, framework)
    masters.parts[1].start()
    until(lambda: masters.get(1, "/state")[0] == 307, masters.said, WITHIN)
    assert masters.get(1, "/state")[1] == f"//localhost:{masters.ports[0]}/state"
    masters.parts[0].kill()
    until(lambda: masters.leads(1), masters.said, WITHIN)
    with closing(Subscriber(masters.ports[1], id={"value": framework_id})) as again:
        kill_task(cluster, masters, again)
        use_again(masters, again)
    calls = cluster.audit(ACCOUNT)
    assert {each.what for each in calls if each.response_status.code == 403} == set()
    assert granted() - {each.what for each in calls} - UNUSED == set()


def test_release_lets_the_pods_of_tasks_go_after_the_last_master(
    cluster: ControlPlane, masters: Masters
) -> None:
    with closing(Subscriber(masters.ports[0])) as framework:
        until(lambda: bool(framework.offers()), masters.said, WITHIN)
        framework.launch(framework.offers()[0], "u")
        until(lambda: bool(tasks(cluster)), masters.said, WITHIN)
    masters.parts[0].stop()
    (name,) = tasks(cluster)
    cluster.send("DELETE", f"/api/v1/namespaces/mesos/pods/{name}")
    time.sleep(2)  # longer than the API server and the kubelet need for a pod without a finalizer
    assert tasks(cluster)[name]["metadata"]["finalizers"] == ["stretto.dev/task"]

    released = masters.release()
    assert (released.returncode, released.stdout) == (0, "pods released in namespace mesos: 1\n")
    until(lambda: not tasks(cluster), masters.said, WITHIN)
    assert masters.release().stdout == "pods released in namespace mesos: 0\n"


def tasks(cluster: ControlPlane) -> dict[str, Any]:
    """The pods of tasks by name."""
    items = json.loads(cluster.send("GET", "/api/v1/namespaces/mesos/pods").body)["items"]
    return {each["metadata"]["name"]: each for each in items}


def granted() -> set[str]:
    """Rights of the master, such as ``create pods``, but for what is followed."""
    text = (ROOT / "deploy" / "rbac-master.yaml").read_text(encoding="utf-8")
    return {
        f"{verb} {resource}"
        for role in yaml.safe_load_all(text)
        for rule in role.get("rules", ())
        for resource in rule["resources"]
        for verb in rule["verbs"]
        if "watch" not in rule["verbs"]
    }


def run_task(cluster: ControlPlane, masters: Masters, framework: Subscriber) -> str:
    """Launch a task on all that is free; a pod takes the rest."""
    until(lambda: bool(framework.offers()), masters.said, WITHIN)
    offer = framework.offers()[0]
    assert {"name": "rack", "type": "TEXT", "text": {"value": "k1"}} in offer["attributes"]

    put(cluster, PODS, pod("p", cpu="3"))  # waits: everything is offered
    framework.launch(offer, "t")
    until(lambda: "p" in placed(cluster), masters.said, WITHIN)

    def runs() -> bool:
        framework.acknowledge()
        return "TASK_RUNNING" in framework.states("t")

    until(runs, masters.said, WITHIN)

    return framework.id


def kill_task(cluster: ControlPlane, masters: Masters, again: Subscriber) -> None:
    """The task still runs, once; KILL deletes its pod."""
    until(lambda: bool(again.events), masters.said, WITHIN)
    assert again.call("RECONCILE", tasks=[]) == 202
    until(lambda: "TASK_RUNNING" in again.states("t"), masters.said, WITHIN)
    assert len(placed(cluster)) == 2

    again.call("KILL", task_id={"value": "t"})

    def killed() -> bool:
        again.acknowledge()
        return "TASK_KILLED" in again.states("t")

    until(killed, masters.said, WITHIN)
    again.acknowledge()  # the last update may have arrived since; its task id is used until then
    until(lambda: list(placed(cluster)) == ["p"], masters.said, WITHIN)


def use_again(masters: Masters, again: Subscriber) -> None:
    """The id of the killed task is used again: it has a pod of its own, which runs and ends."""
    before = len(again.states("t"))
    until(lambda: bool(cpu_offers(again)), masters.said, WITHIN)
    again.launch(cpu_offers(again)[0], "t")

    def reported(state: str) -> bool:
        again.acknowledge()
        return state in again.states("t")[before:]

    until(lambda: reported("TASK_RUNNING"), lambda: again.events, WITHIN)
    again.call("KILL", task_id={"value": "t"})
    until(lambda: reported("TASK_KILLED"), lambda: again.events, WITHIN)


def cpu_offers(framework: Subscriber) -> list[dict[str, Any]]:
    """Offers with CPUs: of those that the killed task has freed, as the pods use all others."""
    return [
        offer
        for offer in framework.offers()
        if any(each["name"] == "cpus" for each in offer["resources"])
    ]
