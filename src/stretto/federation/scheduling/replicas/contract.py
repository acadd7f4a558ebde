"""Input and output of a plugin of the replicas stage."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from stretto.federation.scheduling.supply import Positions, SupplyTable
from stretto.federation.scheduling.workload import FederatedWorkload, HeldReplicas


@dataclass(frozen=True, slots=True)
class ReplicaDivision:
    """Replicas of the selected clusters."""

    #: Replicas by cluster; ``None`` for all replicas of the workload.
    replicas: Mapping[str, int | None]
    #: Replicas beyond the capacity of their cluster, by cluster.
    waiting: Mapping[str, int] = field(default_factory=dict)
    #: Replicas that may run in no cluster.
    unplaced: int = 0
    #: Unplaced replicas that a queue or a gang holds back; ``None`` if there are none.
    held: HeldReplicas | None = None


ReplicaDivider: TypeAlias = Callable[[FederatedWorkload, SupplyTable, Positions], ReplicaDivision]
"""Function from a workload, all clusters and the positions of the selected ones to a division."""
