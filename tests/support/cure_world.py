"""A small cluster as plain objects, so that a suggested cure can be applied to a copy of it."""

import json
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, Final

from stretto.api.wire.kinds import CUSTOM_NODE_RESOURCE, POD_GROUP, QUEUE
from stretto.explain.why.remedies.remedy import CureKind, Remedy
from stretto.state.classes.table import GPU, GPU_MILLI, GPU_MODELS
from stretto.testing import Harness

Body = dict[str, Any]


@dataclass
class CureWorld:
    """Objects of a cluster in which one pod, or the gang ``g``, is pending."""

    #: Nodes by name.
    nodes: dict[str, Body]
    #: Pods with a node, by name.
    running: dict[str, Body]
    #: Pending pods by name: one pod, or the members of the gang.
    pending: dict[str, Body]
    #: Reports of node agents.
    reports: list[Body] = field(default_factory=list)
    #: The PodGroup of the pending pods.
    group: Body | None = None
    #: The Queue of the pending pods.
    queue: Body | None = None
    #: Profile of the plane.
    profile: str = "default"

    def harness(self) -> Harness:
        """A settled plane over these objects."""
        nodes = [_encoded(each) for each in self.nodes.values()]
        harness = Harness(nodes, profile=self.profile, config={"tier": "numpy"})
        harness.create(CUSTOM_NODE_RESOURCE, *map(_encoded, self.reports))
        if self.queue is not None:
            harness.create(QUEUE, _encoded(self.queue))
        harness.submit(*map(_encoded, self.running.values()))
        harness.settle(1)
        if self.group is not None:
            harness.create(POD_GROUP, _encoded(self.group))
        harness.submit(*map(_encoded, self.pending.values()))
        harness.settle(30)
        return harness

    def is_placed(self, harness: Harness) -> bool:
        """Return whether the pending pod has a node, or enough pods of the gang."""
        placed = sum(bool(harness.node_of(name)) for name in self.pending)
        return placed >= (self.group["spec"]["minMember"] if self.group else len(self.pending))

    def emptied(self) -> "CureWorld":
        """The same cluster without running pods."""
        copy = deepcopy(self)
        copy.running = {}
        return copy

    def cured(self, *cures: Remedy) -> "CureWorld":
        """The same cluster after some cures."""
        copy = deepcopy(self)
        for each in cures:
            PLAY[each.kind](copy, each)
        return copy


def _encoded(body: Body) -> bytes:
    return json.dumps(body).encode()


# ---------------------------------------------------------------- cures of nodes


def _grow(world: CureWorld, cure: Remedy) -> None:
    for each in cure.amounts:
        amounts = world.nodes[each.node]["status"]["allocatable"]
        share = each.resource.endswith(" milli")
        name = each.resource.removesuffix(" milli")
        amounts[name] = _more(name, amounts.get(name, "0"), 1 if share else each.amount)


def _more(name: str, text: str, amount: int) -> str:
    if name == "cpu":
        held = int(text[:-1]) if text.endswith("m") else 1000 * int(text)
        return f"{held + amount}m"
    if text.endswith("Gi"):
        return str((int(text[:-2]) << 30) + amount)
    return str(int(text) + amount)


def _uncordon(world: CureWorld, cure: Remedy) -> None:
    del world.nodes[cure.node]["spec"]["unschedulable"]


def _remove_pods(world: CureWorld, cure: Remedy) -> None:
    for each in cure.pods:
        del world.running[each.removeprefix("default/")]


# ---------------------------------------------------------------- cures of the pod


def _each_pod(change: Callable[[Body, Remedy], None]) -> Callable[[CureWorld, Remedy], None]:
    def play(world: CureWorld, cure: Remedy) -> None:
        for pod in world.pending.values():
            change(pod, cure)

    return play


def _request_less(pod: Body, cure: Remedy) -> None:
    requests = pod["spec"]["containers"][0]["resources"]["requests"]
    if cure.resource == f"{GPU} milli":
        pod["metadata"]["annotations"][GPU_MILLI] = str(cure.amount)
    elif cure.resource == "cpu":
        requests["cpu"] = f"{cure.amount}m"
    elif cure.resource:
        requests[cure.resource] = str(cure.amount)
    else:
        _scale(requests, cure.amount)


def _scale(requests: dict[str, str], percent: int) -> None:
    for name, text in requests.items():
        if name == "cpu":
            milli = int(text[:-1]) if text.endswith("m") else 1000 * int(text)
            requests[name] = f"{milli * percent // 100}m"
        elif name == "memory":
            size = int(text[:-2]) << (20 if text.endswith("Mi") else 30)
            requests[name] = str(size * percent // 100)


def _allow_models(pod: Body, cure: Remedy) -> None:
    notes = pod["metadata"]["annotations"]
    notes[GPU_MODELS] = "|".join([notes[GPU_MODELS], *cure.models])


def _tolerate(pod: Body, cure: Remedy) -> None:
    for taint in cure.taints:
        pair, _, effect = taint.rpartition(":")
        key, _, value = pair.partition("=")
        each = {"key": key, "operator": "Equal", "value": value, "effect": effect}
        pod["spec"].setdefault("tolerations", []).append(each)


def _drop_selector(pod: Body, cure: Remedy) -> None:
    del cure
    pod["spec"].pop("nodeSelector", None)
    pod["spec"].get("affinity", {}).pop("nodeAffinity", None)


def _set_spread(field_name: str, value: str) -> Callable[[Body, Remedy], None]:
    def change(pod: Body, cure: Remedy) -> None:
        for each in pod["spec"]["topologySpreadConstraints"]:
            if each["topologyKey"] == cure.key:
                each[field_name] = value

    return change


def _drop_gates(pod: Body, cure: Remedy) -> None:
    if not cure.pods or f"default/{pod['metadata']['name']}" in cure.pods:
        del pod["spec"]["schedulingGates"]


# ---------------------------------------------------------------- cures of the unit


def _min_member(world: CureWorld, cure: Remedy) -> None:
    assert world.group is not None
    world.group["spec"]["minMember"] = cure.amount


def _members(world: CureWorld, cure: Remedy) -> None:
    body = next(iter(world.pending.values()))
    for number in range(cure.amount):
        more = deepcopy(body)
        more["metadata"]["name"] = f"more-{number}"
        world.pending[f"more-{number}"] = more


def _limit(world: CureWorld, cure: Remedy) -> None:
    assert world.queue is not None
    assert world.queue["metadata"]["name"] == cure.queue
    if cure.resource:
        value = f"{cure.amount}m" if cure.resource == "cpu" else str(cure.amount)
        world.queue["spec"]["limit"][cure.resource] = value
    else:
        world.queue["spec"]["maxRunningUnits"] = cure.amount


PLAY: Final[Mapping[CureKind, Callable[[CureWorld, Remedy], None]]] = {
    CureKind.CAPACITY: _grow,
    CureKind.SMALLER: _each_pod(_request_less),
    CureKind.MODELS: _each_pod(_allow_models),
    CureKind.TOLERATION: _each_pod(_tolerate),
    CureKind.SELECTOR: _each_pod(_drop_selector),
    CureKind.UNCORDON: _uncordon,
    CureKind.PODS: _remove_pods,
    CureKind.TAINTS_POLICY: _each_pod(_set_spread("nodeTaintsPolicy", "Honor")),
    CureKind.SPREAD: _each_pod(_set_spread("whenUnsatisfiable", "ScheduleAnyway")),
    CureKind.GATES: _each_pod(_drop_gates),
    CureKind.MIN_MEMBER: _min_member,
    CureKind.MEMBERS: _members,
    CureKind.LIMIT: _limit,
}
"""Application of each cure; an event needs no change, and rules and groups do not occur here."""
