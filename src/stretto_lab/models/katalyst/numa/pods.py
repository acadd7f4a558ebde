"""Pods that need NUMA alignment."""

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Final

import msgspec

from stretto.base.amounts import total_of
from stretto.capacity.headroom.readings import CoreLevel

CPU: Final = "cpu"
"""Name of the CPU resource, in milli-CPU."""
MEMORY: Final = "memory"
"""Name of the memory resource, in bytes."""
WHOLE: Final = 1000
"""Milli-CPU per core."""


class AlignmentPolicy(Enum):
    """Selection of the pods that are aligned."""

    #: Guaranteed pods with whole cores, as in the kubelet.
    NATIVE = "native"
    #: Dedicated pods that request alignment, as in Katalyst's agent.
    DYNAMIC = "dynamic"


class NumaContainer(msgspec.Struct, frozen=True):
    """A container."""

    #: Name of the container.
    name: str
    #: Requested amounts by resource.
    requests: dict[str, int] = {}
    #: Upper bounds by resource.
    limits: dict[str, int] = {}

    @property
    def is_pinned(self) -> bool:
        """True if the kubelet assigns exclusive cores: a whole number, limits equal to requests."""
        cores = self.requests.get(CPU, 0)
        bounded = all(
            0 < self.requests.get(name, 0) == self.limits.get(name) for name in (CPU, MEMORY)
        )
        return bounded and cores % WHOLE == 0


class NumaPod(msgspec.Struct, frozen=True):
    """A pod."""

    #: Name of the pod.
    name: str
    #: Containers of the pod.
    containers: tuple[NumaContainer, ...]
    #: Init containers of the pod.
    init: tuple[NumaContainer, ...] = ()
    #: QoS level; ``None`` for none or an unknown one.
    level: CoreLevel | None = None
    #: True if the pod requests NUMA alignment.
    binds: bool = False
    #: True if the NUMA nodes of the pod run no other dedicated pod.
    is_exclusive: bool = False
    #: Name of the container that is aligned; empty for the first one.
    main: str = ""

    def is_aligned_by(self, policy: AlignmentPolicy) -> bool:
        """Return whether the policy aligns the pod."""
        if policy is AlignmentPolicy.NATIVE:
            return all(each.is_pinned for each in (*self.containers, *self.init))
        return self.level is CoreLevel.DEDICATED and self.binds

    def main_containers(self) -> tuple[NumaContainer, ...]:
        """Containers that the dynamic policy aligns; empty if no container has the name."""
        main = self.main or self.containers[0].name
        return tuple(each for each in self.containers if each.name == main)

    def total(self) -> dict[str, int]:
        """Request of the pod: the sum of its containers, or a larger init container."""
        found = total_of(each.requests for each in self.containers)
        for each in self.init:
            for name, amount in each.requests.items():
                found[name] = max(found.get(name, 0), amount)
        return found


def is_extended(resource: str) -> bool:
    """Return whether a resource has a domain other than Kubernetes' own."""
    return "/" in resource and "kubernetes.io/" not in resource


def positive(requests: Mapping[str, int]) -> dict[str, int]:
    """Resources with a positive request."""
    return {name: amount for name, amount in requests.items() if amount > 0}


def names(pods: Iterable[NumaPod]) -> frozenset[str]:
    """Names of pods."""
    return frozenset(pod.name for pod in pods)
