"""What a plugin of the replicas stage takes and gives."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from stretto.federation.scheduling.supply import Positions, SupplyTable
from stretto.federation.scheduling.workload import FederatedWorkload, HeldReplicas


@dataclass(frozen=True, slots=True)
class ReplicaDivision:
    """Replicas of the selected clusters."""

    #: Replicas by cluster; None is all replicas of the workload.
    replicas: Mapping[str, int | None]
    #: Of them, those beyond the capacity of their cluster.
    waiting: Mapping[str, int] = field(default_factory=dict)
    #: Replicas that no cluster may run.
    unplaced: int = 0
    #: Those of them that a queue or a gang holds back; None for none.
    held: HeldReplicas | None = None


ReplicaDivider: TypeAlias = Callable[[FederatedWorkload, SupplyTable, Positions], ReplicaDivision]
"""From a workload, all clusters and the positions of the selected ones to the replicas of each."""
