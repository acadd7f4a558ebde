"""Admission of pods to overcommitted nodes, after Katalyst's plugin NodeOvercommitment.

With the static CPU manager, a guaranteed pod removes whole cores from the overcommitted part, so it
needs its cores times the ratio. The static memory manager pins memory, which excludes overcommit.
"""

from collections.abc import Iterable
from enum import Enum
from typing import Final, NamedTuple

MILLI: Final = 1000
"""Milli-CPU per core."""


class NodeAdmission(Enum):
    """Result of the admission of a pod to an overcommitted node."""

    ADMITTED = "admitted"
    #: Too little CPU is free after overcommit.
    TOO_LITTLE_CPU = "too little cpu"
    #: The node pins memory and overcommits it.
    PINNED_MEMORY = "pinned memory"


class ContainerCpu(NamedTuple):
    """The CPU request of a container."""

    #: Request in milli-CPU.
    milli: int = 0
    #: True if requests equal limits for CPU and memory.
    is_guaranteed: bool = False

    @property
    def whole_cpus(self) -> int:
        """Number of whole cores; 0 if the request has a fraction."""
        return 0 if self.milli % MILLI else self.milli // MILLI


class PodCpu(NamedTuple):
    """The CPU that a pod requests: exclusive cores, or milli-CPU from the shared part."""

    #: Whole exclusive cores; 0 for a pod without them.
    guaranteed: int
    #: Milli-CPU of a pod without exclusive cores, otherwise 0.
    shared_milli: int
    #: Milli-CPU of the pod in either case.
    milli: int


class OvercommittedNode(NamedTuple):
    """State of an overcommitted node that determines the admission of pods."""

    #: Effective CPU ratio.
    cpu_ratio: float
    #: Effective memory ratio.
    memory_ratio: float
    #: Milli-CPU before overcommit.
    original_milli: int
    #: True if guaranteed pods get exclusive cores (static CPU manager).
    pins_cpu: bool
    #: True if pods get pinned memory (static memory manager).
    pins_memory: bool


def pod_cpu(
    containers: Iterable[ContainerCpu], init: Iterable[ContainerCpu], overhead_milli: int = 0
) -> PodCpu:
    """CPU of a pod: the sum of its containers, or of an init container that needs more."""
    main, before = list(containers), list(init)
    milli = max(sum(each.milli for each in main), *(each.milli for each in before), 0)
    milli += overhead_milli
    cores = 0
    if all(each.is_guaranteed for each in (*main, *before)):
        cores = max(sum(each.whole_cpus for each in main), *(e.whole_cpus for e in before), 0)
    return PodCpu(cores, 0 if cores else milli, milli)


def admit(node: OvercommittedNode, present: Iterable[PodCpu], pod: PodCpu) -> NodeAdmission:
    """Evaluate a pod on a node with its present pods."""
    if not pod.guaranteed and not pod.shared_milli:
        return NodeAdmission.ADMITTED
    if node.pins_memory and node.memory_ratio > 1:
        return NodeAdmission.PINNED_MEMORY
    if not node.pins_cpu or node.cpu_ratio <= 1:
        return NodeAdmission.ADMITTED
    there = list(present)
    exclusive = MILLI * sum(each.guaranteed for each in there)
    requested = sum(each.milli for each in there)
    left = int((node.original_milli - exclusive) * node.cpu_ratio) - (requested - exclusive)
    need = int(pod.guaranteed * MILLI * node.cpu_ratio) if pod.guaranteed else pod.shared_milli
    return NodeAdmission.ADMITTED if need <= left else NodeAdmission.TOO_LITTLE_CPU
