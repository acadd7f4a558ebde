"""Recorded results of Katalyst's NodeResourceTopology, computed by the models of Katalyst."""

from math import isnan
from typing import Any, Final

import msgspec

from stretto.capacity.headroom.readings import CoreLevel
from stretto.capacity.model.profiles import CapacityProfile
from stretto_lab.models.katalyst.numa import fit, scoring
from stretto_lab.models.katalyst.numa.fit import Alignment
from stretto_lab.models.katalyst.numa.pods import AlignmentPolicy, NumaContainer, NumaPod
from stretto_lab.models.katalyst.numa.scoring import NumaScoring, NumaStrategy, UndefinedScoreError
from stretto_lab.models.katalyst.numa.zones import AlignedMachine, NumaZone, TopologyPolicy

Fields = dict[str, Any]
"""The members of an input or of a result."""

_LEVELS: Final = {each.value: each for each in CoreLevel}
_POLICIES: Final = {each.value: each for each in TopologyPolicy}
_STATUS: Final = {
    Alignment.FITS: "",
    Alignment.CONTAINER: "Unschedulable: cannot align container",
    Alignment.POD: "Unschedulable: cannot align pod",
}


class RecordedPod(msgspec.Struct, frozen=True):
    """A pod in the form of the recordings."""

    #: Its name.
    name: str
    #: Its containers.
    containers: tuple[NumaContainer, ...]
    #: Its init containers.
    init_containers: tuple[NumaContainer, ...] = ()
    #: QoS level, perhaps unknown.
    qos: str = ""
    #: True if it requests alignment.
    numa_binding: bool = False
    #: True if it uses its NUMA nodes exclusively.
    numa_exclusive: bool = False
    #: The aligned container.
    main_container: str = ""

    def pod(self) -> NumaPod:
        """The pod as input of the models."""
        return NumaPod(
            self.name,
            self.containers,
            self.init_containers,
            _LEVELS.get(self.qos),
            self.numa_binding,
            self.numa_exclusive,
            self.main_container,
        )


class RecordedAllocation(msgspec.Struct, frozen=True):
    """Amounts of a NUMA node that a pod uses."""

    #: The pod.
    pod: str
    #: Amounts.
    requests: dict[str, int]


class RecordedZone(msgspec.Struct, frozen=True):
    """A NUMA node in the form of the recordings."""

    #: Its number.
    id: int
    #: Its socket.
    socket: str
    #: Physical amounts.
    capacity: dict[str, int]
    #: Amounts for pods.
    allocatable: dict[str, int]
    #: Amounts in use.
    allocations: tuple[RecordedAllocation, ...] = ()

    def zone(self) -> NumaZone:
        """The NUMA node as input of the models."""
        used = tuple((each.pod, each.requests) for each in self.allocations)
        return NumaZone(self.socket, self.capacity, self.allocatable, used)


class RecordedMachine(msgspec.Struct, frozen=True):
    """A node in the form of the recordings."""

    #: Its name.
    name: str
    #: Its alignment policy.
    topology_policy: str
    #: NUMA nodes.
    numas: tuple[RecordedZone, ...] = ()
    #: Pods on it.
    pods: tuple[RecordedPod, ...] = ()
    #: Pods that are not reported yet.
    reserved: tuple[RecordedPod, ...] = ()
    #: True if it has no CNR.
    no_topology: bool = False

    def machine(self) -> AlignedMachine:
        """The node as input of the models."""
        zones = sorted(self.numas, key=lambda zone: zone.id)
        return AlignedMachine(
            () if self.no_topology else tuple(zone.zone() for zone in zones),
            _POLICIES.get(self.topology_policy),
            tuple(each.pod() for each in self.pods),
            tuple(each.pod() for each in self.reserved),
        )


class NumaInput(msgspec.Struct, frozen=True):
    """The input of ``kc_numa``."""

    #: The pods that are aligned.
    plugin_policy: AlignmentPolicy
    #: The preference of the score.
    strategy: NumaStrategy
    #: The pod.
    pod: RecordedPod
    #: The nodes.
    nodes: tuple[RecordedMachine, ...]
    #: Resources that come from the same NUMA nodes.
    aligned: frozenset[str] = frozenset()
    #: Weights by resource.
    weights: dict[str, int] = {}


def numa(given: Fields) -> Fields:
    """``kc_numa``: filter and score of each node."""
    wanted = msgspec.convert(given, NumaInput, strict=False)
    pod = wanted.pod.pod()
    rules = NumaScoring(
        wanted.strategy,
        wanted.plugin_policy,
        wanted.aligned,
        wanted.weights,
        CapacityProfile.KATALYST,
    )
    nodes = []
    for each in wanted.nodes:
        machine = each.machine()
        found = fit.align(machine, pod, rules.policy, rules.aligned, rules.profile)
        nodes.append(
            {"node": each.name, "filter": _STATUS[found], "score": _score(machine, pod, rules)}
        )
    return {"nodes": nodes}


def _score(machine: AlignedMachine, pod: NumaPod, rules: NumaScoring) -> float | str:
    """A score; recordings contain a text for a division by zero."""
    try:
        found = scoring.score(machine, pod, rules)
    except UndefinedScoreError:
        return "panic"
    return "nan" if isnan(found) else found
