"""`kubectl stretto`: real kubectl and a real cluster with a running scheduler."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from stretto.api.wire.kinds import QUEUE
from stretto.stores.kube.paths import collection_path
from stretto_lab.control_plane.cluster import ControlPlane, ControlPlaneConfig
from stretto_lab.control_plane.credentials import CertificateUser
from stretto_lab.control_plane.tools import path_of
from tests.e2e.daemon import Daemon, bound, kubectl, pod, put, ready_nodes, rights_settle, until

pytestmark = pytest.mark.kube

ROLE = Path(__file__).resolve().parents[2] / "deploy" / "rbac-reader.yaml"
SPACE = "shop"
PODS = f"/api/v1/namespaces/{SPACE}/pods"


class Desk:
    """An account with read access, with kubectl and the plug-in on the path."""

    def __init__(self, plane: ControlPlane, folder: Path) -> None:
        self.plane, self.folder = plane, folder
        plugin = folder / "kubectl-stretto"
        plugin.write_text(f'#!/bin/sh\nexec {sys.executable} -m stretto.cli.kubectl "$@"\n')
        plugin.chmod(0o755)

    def run(self, *words: str, user: str = "reader") -> subprocess.CompletedProcess[str]:
        """The output of `kubectl stretto` for a user."""
        tools = [str(self.folder), str(path_of("kubectl").parent)]
        environment = {
            "PATH": os.pathsep.join([*tools, os.environ["PATH"]]),
            "KUBECONFIG": str(self.plane.kubeconfig_of(user)),
            "HOME": str(self.folder),
        }
        command = ["kubectl", "stretto", *words]
        return subprocess.run(command, env=environment, capture_output=True, text=True)

    def reported(self, *words: str) -> str:
        """Its output, which must succeed."""
        done = self.run(*words)
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A cluster where one pod runs, one is too big, one is of others, and a scheduler works."""
    users = (CertificateUser("reader"), CertificateUser("guest"))
    log = tmp_path_factory.mktemp("daemon") / "log"
    with ControlPlane(ControlPlaneConfig(users=users, audited=True)) as plane:
        plane.install()
        put(plane, "/api/v1/namespaces", {"metadata": {"name": SPACE}})
        kubectl(plane, "apply", "-f", str(ROLE))
        words = ("clusterrolebinding", "readers", "--clusterrole", "stretto-reader")
        kubectl(plane, "create", *words, "--user", "reader")
        rights_settle(plane)
        ready_nodes(plane, "n0", "n1", cpu="8")
        put(plane, collection_path(QUEUE), queue())
        with Daemon(plane.kubeconfig, log, "--no-leader-elect") as daemon:
            daemon.ready()
            put(plane, PODS, in_queue("web"), pod("big", "64"), pod("theirs", schedulerName="x"))
            until(lambda: "web" in bound(plane, SPACE), daemon.part.log_tail)
            until(lambda: events_of(plane, "big") != [], daemon.part.log_tail)
            yield plane


@pytest.fixture(scope="module")
def desk(cluster: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Desk:
    return Desk(cluster, tmp_path_factory.mktemp("desk"))


def test_explain_states_why_a_pod_waits(desk: Desk) -> None:
    said = desk.reported("explain", "big", "-n", SPACE)
    assert "shop/big" in said
    assert "0/2 nodes are available: 2 Insufficient cpu" in said


def test_explain_states_where_a_pod_is(desk: Desk, cluster: ControlPlane) -> None:
    assert f"shop/web · bound on {bound(cluster, SPACE)['web']}" in desk.reported(
        "explain", "shop/web"
    )


def test_explain_names_the_scheduler_of_a_foreign_pod(desk: Desk) -> None:
    assert "Its schedulerName is x" in desk.reported("explain", "theirs", "--namespace", SPACE)


def test_explain_answers_programs_in_json(desk: Desk) -> None:
    said = json.loads(desk.reported("explain", "shop/big", "--json", "-"))
    assert said["schema"].startswith("stretto.explain/")
    assert said["pod"] == "shop/big"


def test_story_shows_what_the_running_scheduler_has_reported(desk: Desk) -> None:
    said = desk.reported("story", "big", "-n", SPACE)
    assert "no place" in said
    assert "Insufficient cpu" in said


@pytest.mark.parametrize("verb", ["story", "explain"])
def test_a_pod_that_is_not_there_names_its_neighbours(desk: Desk, verb: str) -> None:
    done = desk.run(verb, "bug", "-n", SPACE)
    assert (done.returncode, "big" in done.stderr) == (6, True)


def test_queues_shows_what_a_queue_has(desk: Desk) -> None:
    said = json.loads(desk.reported("queues", "--json", "-"))
    found = next(each for each in said["queues"] if each["name"] == "research")
    assert found["used"]["cpu"] == "500m"


def test_shards_shows_which_shard_tries_which_nodes(desk: Desk) -> None:
    said = json.loads(desk.reported("shards", "--shards", "2", "--json", "-"))
    assert sum(each["nodes"] for each in said["shards"]) == 2


def test_doctor_finds_no_broken_law(desk: Desk) -> None:
    assert "All invariants hold." in desk.reported("doctor")


def test_plan_shows_what_would_happen(desk: Desk, tmp_path: Path) -> None:
    fits = {"apiVersion": "v1", "kind": "Pod", **pod("next", "4")}
    (tmp_path / "next.json").write_text(json.dumps(fits))
    assert "1 of 1 pod would be placed" in desk.reported("plan", str(tmp_path / "next.json"))


def test_a_forbidden_read_names_the_missing_permission(desk: Desk) -> None:
    done = desk.run("explain", "shop/big", user="guest")
    assert done.returncode == 5
    assert "list pods" in done.stderr


def test_its_role_is_what_it_requests_and_only_reads(desk: Desk, cluster: ControlPlane) -> None:
    desk.reported("story", "big", "-n", SPACE)
    desk.reported("doctor")
    rules = next(yaml.safe_load_all(ROLE.read_text(encoding="utf-8")))["rules"]
    granted = {f"{verb} {each}" for r in rules for verb in r["verbs"] for each in r["resources"]}
    assert {what.partition(" ")[0] for what in granted} == {"get", "list", "watch"}
    unlisted = {what for what in granted if what.startswith("list ")}  # pages: the fall-back

    def unused() -> set[str]:
        used = {call.what for call in cluster.audit("reader") if call.object_ref.resource}
        return granted - unlisted - used

    until(lambda: unused() == set(), unused)  # a watch is recorded when it ends
    refused = {e.what for e in cluster.audit("reader") if e.response_status.code == 403}
    assert refused == set()


def queue() -> dict[str, Any]:
    named = {"apiVersion": QUEUE.api_version, "kind": "Queue"}
    return {**named, "metadata": {"name": "research"}, "spec": {"guarantee": {"cpu": "2"}}}


def in_queue(name: str) -> dict[str, Any]:
    body = pod(name)
    body["metadata"]["annotations"] = {"stretto.dev/queue": "research"}
    return body


def events_of(plane: ControlPlane, name: str) -> list[object]:
    path = f"/api/v1/namespaces/{SPACE}/events?fieldSelector=involvedObject.name={name}"
    items: list[object] = json.loads(plane.send("GET", path).body)["items"]
    return items
