"""Queueing hints of the exact path: a refused pod wakes exactly on events that may help it."""

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from stretto.api.wire.kinds import NODE, POD
from stretto.stores.store import Deletion, Patch
from stretto.testing import make_node, make_pod
from tests.support.parity_cluster import ZONE, pod, thing
from tests.support.parity_plane import Parity

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
BACK_OFF = 12.0
RED = {"labelSelector": {"matchLabels": {"color": "red"}}}
Event = Callable[[Parity], None]


class Cured(NamedTuple):
    """The running pods, the constraints of a new pod, and the event that makes it fit."""

    running: tuple[bytes, ...]
    constraints: dict[str, Any]
    event: Event


def near(kind: str, key: str) -> dict[str, Any]:
    return {"affinity": {kind: {REQUIRED: [{"topologyKey": key, **RED}]}}}


def spread(**more: Any) -> dict[str, Any]:
    rule = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule", **RED, **more}
    return {
        "labels": {"color": "red"},
        "requests": {"cpu": "1"},
        "topologySpreadConstraints": [rule],
    }


def red(name: str, node: str) -> bytes:
    return make_pod(name, node=node, labels={"color": "red"})


def full(node: str) -> bytes:
    return make_pod(f"full-{node}", node=node, cpu="4")


def labels(kind: Any, name: str, **more: str) -> Event:
    return lambda plane: plane.patch(kind, name, metadata={"labels": more})


def node(name: str, **spec: Any) -> Event:
    return lambda plane: plane.patch(NODE, name, spec=spec)


def node_goes(name: str) -> Event:
    return lambda plane: [plane.store.delete(NODE, [Deletion("", name)])].clear()


def grows(plane: Parity) -> None:
    status = {"status": {"allocatable": {"cpu": "9", "memory": "32Gi", "pods": "110"}}}
    plane.store.patch_status(NODE, [Patch("", "a1", status)])


def claim_comes(plane: Parity) -> None:
    plane.define(thing("StorageClass", "c", provisioner="x", volumeBindingMode=WAIT))
    plane.define(thing("PersistentVolumeClaim", "data", spec={"storageClassName": "c"}))


WAIT = "WaitForFirstConsumer"
CLAIM = {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]}
PORT = {"ports": [{"containerPort": 80, "hostPort": 80}]}
USERS = (make_pod("x", node="a1", ports=[80]), make_pod("y", node="b1", ports=[80]))
TAINT = {"key": "k", "effect": "NoSchedule"}
NEW_NODE = make_node("c1", cpu="9")

CURED = {
    "a node comes": Cured((), {"requests": {"cpu": "6"}}, lambda p: p.create(NODE, NEW_NODE)),
    "a node grows": Cured((), {"requests": {"cpu": "6"}}, grows),
    "a pod leaves": Cured((full("a1"), full("b1")), {"requests": {"cpu": "1"}},
                          lambda p: p.delete("full-a1")),
    "a label comes": Cured((), {"nodeSelector": {"disk": "ssd"}}, labels(NODE, "a1", disk="ssd")),
    "a port becomes free": Cured(USERS, PORT, lambda p: p.delete("y")),
    "a wanted pod comes": Cured((), near("podAffinity", ZONE), lambda p: p.submit(red("r", "b1"))),
    "a pod becomes wanted": Cured((make_pod("r", node="a1"),), near("podAffinity", ZONE),
                                  labels(POD, "r", color="red")),
    "a shunned pod changes": Cured((red("r", "a1"),), near("podAntiAffinity", "rack"),
                                   labels(POD, "r", color="blue")),
    "a shunned pod's node moves": Cured((red("r", "a1"),), near("podAntiAffinity", "rack"),
                                        labels(NODE, "a1", rack="2")),
    "a shunned pod's node goes": Cured((red("r", "b1"),), near("podAntiAffinity", "rack"),
                                       node_goes("b1")),
    "the emptiest zone goes": Cured((red("r", "a1"), full("b1")), spread(), node_goes("b1")),
    "the emptiest zone counts no more": Cured(
        (red("r", "a1"), full("b1")), spread(nodeTaintsPolicy="Honor"), node("b1", taints=[TAINT])
    ),
    "a pod evens the zones out": Cured((red("r", "a1"), full("b1")), spread(),
                                       lambda p: p.submit(red("s", "b1"))),
    "the claim comes": Cured((), CLAIM, claim_comes),
}  # fmt: skip


def plane_with(*running: bytes) -> Parity:
    """Two nodes of one rack in two zones, and what runs on them."""
    rack = {"rack": "1"}
    plane = Parity(*(make_node(f"{z}1", zone=z, cpu="4", labels=rack) for z in "ab"))
    plane.submit(*running)
    plane.settle()
    return plane


@pytest.mark.parametrize("cured", CURED.values(), ids=list(CURED))
def test_what_lets_a_pod_fit_wakes_it(cured: Cured) -> None:
    plane = plane_with(*cured.running)
    plane.submit_pod(pod(**cured.constraints))
    plane.settle()
    assert plane.node_of("p") == ""
    cured.event(plane)
    plane.settle(BACK_OFF)
    assert plane.node_of("p") != ""


IDLE = {
    "too little cpu": Cured((), {"requests": {"cpu": "6"}}, labels(NODE, "a1", disk="ssd")),
    "a node's label": Cured((), {"nodeSelector": {"disk": "ssd"}}, lambda p: p.submit(full("a1"))),
    "taken ports": Cured(USERS, PORT, node("a1", taints=[TAINT])),
    "no such claim": Cured((full("a1"),), CLAIM, lambda p: p.delete("full-a1")),
    "a cordon": Cured((), {"nodeSelector": {"disk": "ssd"}}, node("a1", unschedulable=True)),
}
"""A pod that lacks something, and an event that has nothing to do with it."""


@pytest.mark.parametrize("idle", IDLE.values(), ids=list(IDLE))
def test_what_cannot_help_a_pod_lets_it_sleep(idle: Cured) -> None:
    plane = plane_with(*idle.running)
    plane.submit_pod(pod(**idle.constraints))
    plane.settle()
    idle.event(plane)
    plane.settle(BACK_OFF)
    assert plane.tries["p"] == 1


def test_a_gate_that_goes_lets_the_pod_be_tried() -> None:
    plane = plane_with()
    plane.submit_pod(pod(schedulingGates=[{"name": "wait"}]))
    plane.settle(BACK_OFF)
    assert (plane.node_of("p"), plane.tries) == ("", {})
    plane.patch(POD, "p", spec={"schedulingGates": None})
    plane.settle()
    assert plane.node_of("p") == "a1"


def test_a_corrected_pod_is_retried() -> None:
    plane = plane_with()
    plane.submit_pod(pod(nodeSelector={"disk": "ssd"}))
    plane.settle()
    plane.patch(POD, "p", spec={"nodeSelector": None})
    plane.settle(BACK_OFF)
    assert plane.node_of("p") == "a1"
