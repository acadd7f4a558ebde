"""NonNativeTopology: the NUMA nodes of a node must fit a pod that requests NUMA nodes.

``state.numa.choice`` chooses the NUMA nodes. Explanations use this rule; shards place such pods
with separate kernels.
"""

from collections.abc import Hashable, Mapping
from typing import Any, ClassVar, Final

import numpy as np

from stretto.framework.contract import arguments as read
from stretto.framework.contract.rule import BoolArray, FilterRule, Refusal, Scope, SlotArray, View
from stretto.state.classes.annotations import NumaBinding
from stretto.state.classes.table import PodClass
from stretto.state.numa.choice import NumaMachine, choose
from stretto.state.numa.ledger import NumaTopology
from stretto.state.rows.resources import CPU, MEMORY
from stretto.state.work.units import Cure

NAME: Final = "NonNativeTopology"
NO_NUMA: Final = "node(s) report no NUMA topology"
REASONS: Final[Mapping[NumaBinding, str]] = {
    NumaBinding.ONE: "node topology not satisfy non-exclusive dedicated cores pod requests",
    NumaBinding.SOCKET: "no socket of the node(s) satisfies the pod's requests",
    NumaBinding.WHOLE: "node topology not satisfy exclusive dedicated cores pod requests",
}
"""Gödel's reasons if it has one, so that tools which read them continue to work."""


class NonNativeTopologyRule(FilterRule):
    """Refuses nodes whose NUMA nodes do not hold a pod that is bound to some."""

    NAME: ClassVar[str] = NAME
    SCOPE: ClassVar[Scope] = Scope.SLOT
    CURES: ClassVar[Cure] = (
        Cure.POD_LEFT | Cure.NODE_ADDED | Cure.NODE_GREW | Cure.NODE_LABELS | Cure.POD_CHANGED
    )
    FUSED: ClassVar[bool] = True

    def __init__(self, args: Mapping[str, Any]) -> None:
        """Accept no arguments."""
        super().__init__(args)
        read.arguments(args, (), NAME)

    def signature(self, pod: PodClass) -> Hashable | None:
        """The class itself if it is bound to NUMA nodes, otherwise ``None``."""
        return pod.id if pod.annotations.numa is not None else None

    def filter(self, pod: PodClass, view: View, slots: SlotArray) -> BoolArray:
        """bool[k]: true where the NUMA nodes fit the pod."""
        topology = view.nodes.topology
        if pod.annotations.numa is None or topology is None:
            return np.full(len(slots), pod.annotations.numa is None, np.bool_)
        return np.array([topology.admits(int(s), pod) for s in slots.tolist()], np.bool_)

    def refusals(self, pod: PodClass, view: View, slots: SlotArray) -> list[Refusal]:
        """Reasons: no NUMA topology, NUMA nodes that are too small, or too full now."""
        refused = ~self.filter(pod, view, slots)
        topology = view.nodes.topology
        if pod.annotations.numa is None or topology is None or not refused.any():
            return []
        without = np.array([int(s) not in topology.numbers for s in slots.tolist()], np.bool_)
        reason = REASONS[pod.annotations.numa.binding]
        never = np.zeros(len(slots), np.bool_)
        for place in np.flatnonzero(refused & ~without).tolist():
            empty = empty_machine(topology, view, int(slots[place]), pod)
            never[place] = not choose(empty, pod.annotations.numa.binding)
        found = [
            Refusal(NO_NUMA, refused & without, resolvable=False),
            Refusal(reason, never, resolvable=False),
            Refusal(reason, refused & ~without & ~never),
        ]
        return [each for each in found if each.mask.any()]


def empty_machine(topology: NumaTopology, view: View, slot: int, pod: PodClass) -> NumaMachine:
    """The machine of a slot as if no pods ran on it, with a pod's requests."""
    machine = topology.machine(slot, pod)
    devices, ledger = view.columns.ledger.devices, view.columns.ledger
    needs = []
    for each, request in zip(machine.devices, pod.devices, strict=True):
        kind, models = devices.kind_number(request.kind), devices.model_mask(request.models)
        usable = (devices.kind[slot] == kind) & (
            (models >> devices.model[slot].astype(np.int64) & 1) > 0
        )
        where = topology.device_numa_node[slot]
        counts = tuple(int((usable & (where == z)).sum()) for z in range(len(machine.sockets)))
        needs.append(each._replace(fitting=counts if each.fitting else ()))
    allocatable = [int(ledger.alloc[slot, column]) for column in (CPU, MEMORY)]
    return machine._replace(free=machine.alloc, devices=needs, node_free=allocatable)
