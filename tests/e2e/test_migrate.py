"""Coming from Gödel: the page's commands on a cluster in the middle of Gödel's work."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from stretto.api.types.handover_annotations import LOCK, LOCK_BINDER, Hand, read
from stretto.api.wire.kinds import QUEUE
from stretto_lab.control_plane.cluster import ControlPlane, ControlPlaneConfig
from tests.e2e.daemon import (
    PREFIX,
    bound,
    group,
    groups,
    item,
    named_space,
    pod,
    pods_of,
    put,
    ready_nodes,
    rights_settle,
    until,
)
from tests.e2e.deployed import ROOT, Deployed, blocks, shell

pytestmark = pytest.mark.kube

PAGE = ROOT / "docs" / "guides" / "migrate" / "godel.md"
PARTS = ("kube-controller-manager", "kube-scheduler", "kwok")
GODEL = ("dispatcher", "scheduler", "binder", "controller-manager")
NAME = "godel-scheduler"
STATE = f"{PREFIX}pod-state"
CHOSEN = {f"{PREFIX}selected-scheduler": NAME}
DISPATCHED = {STATE: "dispatched", **CHOSEN}
ASSUMED = {STATE: "assumed", **CHOSEN, f"{PREFIX}assumed-node": "n1"}
NOMINATED = {
    STATE: "assumed",
    **CHOSEN,
    f"{PREFIX}nominated-node": json.dumps({"node": "n1", "victims": []}),
}
RING = {f"{PREFIX}pod-group-name": "ring"}
LEFT: dict[str, tuple[str, dict[str, str]]] = {
    "running": ("1", ASSUMED),
    "ring-0": ("1", ASSUMED | RING),
    "ring-1": ("1", ASSUMED | RING),
    "assumed": ("1", ASSUMED),
    "nominated": ("1", NOMINATED),
    "dispatched": ("1", DISPATCHED),
    "broken": ("1", {STATE: "assumed"}),
    "pending": ("1", {STATE: "pending"}),
    "untouched": ("1", {}),
    "wide": ("1000", DISPATCHED),
}
"""Pods as Gödel leaves them: the requests and annotations of each."""
ON_NODES = {"running", "ring-0"}
"""Those that Gödel has bound; a gang in the middle of its bindings among them."""


class Course(NamedTuple):
    """Pods of the cluster by name after each step of the page."""

    #: Before anything.
    first: dict[str, dict[str, Any]]
    #: Where a pod for Stretto alone went while Gödel's pods were not Stretto's.
    trial: str
    #: While Stretto answered to its own name alone.
    beside: dict[str, dict[str, Any]]
    #: When Stretto had taken over.
    after: dict[str, dict[str, Any]]
    #: When it was stopped again.
    back: dict[str, dict[str, Any]]


@pytest.fixture(scope="module")
def cluster() -> Iterator[ControlPlane]:
    """A cluster as Gödel's users have one: its kinds are there, and ours are not."""
    with ControlPlane(ControlPlaneConfig(parts=PARTS)) as plane:
        ready_nodes(plane, "n0", cpu="8", spare="yes")
        ready_nodes(plane, "n1", cpu="8")
        _define_goedels_kinds(plane)
        put(plane, "/api/v1/namespaces", {"metadata": {"name": "godel-system"}})
        for name in GODEL:
            app = name if name == "controller-manager" else f"godel-{name}"
            put(plane, "/apis/apps/v1/namespaces/godel-system/deployments", _deployment(name, app))
        yield plane


@pytest.fixture(scope="module")
def course(cluster: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Course:
    """All steps of the page."""
    folder, space = tmp_path_factory.mktemp("course"), named_space(cluster, "godel")
    path = f"/api/v1/namespaces/{space}/pods"
    _half_decided(cluster, space)

    def now() -> dict[str, dict[str, Any]]:
        return {each["metadata"]["name"]: each for each in pods_of(cluster, space)}

    install, stop, take_over, give_back = (
        block.text for block in blocks(PAGE) if not block.mark.startswith("not tried")
    )
    first = now()
    _done(cluster, install, folder)
    rights_settle(cluster)
    with Deployed(cluster, folder / "beside") as daemon:
        daemon.ready()
        put(cluster, path, pod("trial", nodeSelector={"spare": "yes"}))
        until(lambda: "trial" in bound(cluster, space), now)
        trial, beside = bound(cluster, space)["trial"], now()
    _done(cluster, stop, folder)
    _done(cluster, take_over, folder)
    with Deployed(cluster, folder / "alone") as daemon:
        daemon.ready()
        put(cluster, path, _pod("late", "1000", {}))
        until(lambda: bound(cluster, space).keys() == {*LEFT, "trial"} - {"wide"}, now)
        until(lambda: all(map(_is_reported, (now()["wide"], now()["late"]))), now)
        after = now()
    _done(cluster, give_back, folder)
    return Course(first, trial, beside, after, now())


def test_next_to_goedel_only_pods_of_its_own_name_are_changed(course: Course) -> None:
    assert course.trial == "n0"
    kept = {name: _version(course.beside[name]) for name in course.first}
    assert kept == {name: _version(each) for name, each in course.first.items()}


def test_what_goedel_had_bound_is_left_where_it_runs(course: Course) -> None:
    for name in ON_NODES:
        assert course.after[name]["metadata"]["uid"] == course.first[name]["metadata"]["uid"]
        assert course.after[name]["spec"]["nodeName"] == "n1"


def test_what_goedel_had_half_decided_is_decided_afresh_and_gangs_are_made_whole(
    course: Course,
) -> None:
    nodes = {name: each["spec"].get("nodeName") for name, each in course.after.items()}
    assert {name for name, where in nodes.items() if where is None} == {"wide", "late"}


def test_goedel_finds_what_still_waits_as_it_left_it(course: Course) -> None:
    assert _notes(course.back["wide"]) == LEFT["wide"][1]
    assert read(_notes(course.back["wide"])).hand is Hand.DISPATCHED
    assert read(_notes(course.back["late"])).hand is Hand.PENDING


def test_goedel_is_stopped_before_stretto_takes_over_and_runs_again_after_it(
    cluster: ControlPlane, course: Course
) -> None:
    for name in GODEL:
        found = item(cluster, f"/apis/apps/v1/namespaces/godel-system/deployments/{name}")
        assert found["spec"]["replicas"] == 1
    ours = item(cluster, "/apis/apps/v1/namespaces/kube-system/deployments/stretto-scheduler")
    assert ours["spec"]["replicas"] == 0


def _half_decided(plane: ControlPlane, space: str) -> None:
    """The pods in ``LEFT``, and the PodGroup that two of them are of."""
    put(plane, groups(space), _locked(group("ring", 2)))
    path = f"/api/v1/namespaces/{space}/pods"
    for name, (cpu, notes) in LEFT.items():
        put(plane, path, _pod(name, cpu, notes))
        if name in ON_NODES:
            whole = {"metadata": {"name": name}, "target": {"kind": "Node", "name": "n1"}}
            put(plane, f"{path}/{name}/binding", whole)


def _pod(name: str, cpu: str, notes: dict[str, str]) -> dict[str, Any]:
    body = pod(name, cpu, schedulerName=NAME)
    body["metadata"]["annotations"] = notes
    body["metadata"]["labels"] |= {key: notes[key] for key in RING if key in notes}
    return body


def _locked(body: dict[str, Any]) -> dict[str, Any]:
    """A PodGroup whose phase Gödel's binder was about to set."""
    body["metadata"]["annotations"] = {LOCK: LOCK_BINDER}
    return body


def _deployment(name: str, app: str) -> dict[str, Any]:
    """One of Gödel's, by the names of its own manifests; what is in it does not matter."""
    labels = {"app": app}
    inside = {"containers": [{"name": name, "image": "godel"}]}
    template = {"metadata": {"labels": labels}, "spec": inside}
    spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    return {"metadata": {"name": name}, "spec": spec}


def _define_goedels_kinds(plane: ControlPlane) -> None:
    """All kinds but queues, by their names and without our bounds."""
    open_schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    for file in (ROOT / "deploy" / "crds").glob("*.yaml"):
        body = yaml.safe_load(file.read_text(encoding="utf-8"))
        if body["spec"]["names"]["kind"] == QUEUE.kind:
            continue
        for version in body["spec"]["versions"]:
            version["schema"] = {"openAPIV3Schema": open_schema}
        put(plane, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", body)
    until(lambda: plane.send("GET", groups()).status == 200, lambda: "PodGroups are not served")


def _done(plane: ControlPlane, text: str, folder: Path) -> None:
    done = shell(plane, text, folder)
    assert done.returncode == 0, f"{text}\n{done.stdout}\n{done.stderr}"


def _is_reported(each: dict[str, Any]) -> bool:
    """Return whether a pod's conditions say why it waits."""
    return any(c["type"] == "PodScheduled" for c in each["status"].get("conditions", []))


def _notes(each: dict[str, Any]) -> dict[str, str]:
    return dict(each["metadata"].get("annotations", {}))


def _version(each: dict[str, Any]) -> str:
    return str(each["metadata"]["resourceVersion"])
