"""The input and the output of KubeAdmiral's replica planners."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class ReplicaPreference:
    """The settings of a policy for one cluster."""

    #: The cluster.
    name: str
    #: Share of the replicas above the minimum; 0 for none.
    weight: int = 0
    #: Replicas that the cluster gets first.
    minimum: int = 0
    #: Maximum replicas; ``None`` for no limit.
    maximum: int | None = None
    #: True if this is the preference for clusters that the policy does not name.
    general: bool = False


@dataclass(frozen=True, slots=True)
class ReplicaDemand:
    """Replicas to divide, and the limits of the division."""

    #: Replicas of the workload.
    replicas: int
    #: The clusters; binpack fills them in this order.
    preferences: tuple[ReplicaPreference, ...]
    #: Namespace and name of the workload, which break ties between equal weights.
    key: str = ""
    #: Present replicas by cluster.
    current: Mapping[str, int] = field(default_factory=dict)
    #: Known capacity of each cluster in replicas; more of them would stay pending.
    estimated: Mapping[str, int] = field(default_factory=dict)
    #: Hard limits of a migration.
    limited: Mapping[str, int] = field(default_factory=dict)
    #: Running replicas by cluster; only binpack reads them.
    scheduled: Mapping[str, int] = field(default_factory=dict)
    #: True if present replicas stay in their cluster as far as the total allows.
    avoid_disruption: bool = True
    #: True if replicas beyond an estimate stay in their cluster, in addition to their replacements.
    keep_unschedulable: bool = False


@dataclass(frozen=True, slots=True)
class ReplicaPlan:
    """Replicas by cluster."""

    #: Replicas that fit, including clusters that get none.
    placed: dict[str, int]
    #: Replicas beyond the estimates.
    overflow: dict[str, int]

    def total(self) -> dict[str, int]:
        """The replicas to set: placed and overflow, without clusters that get none."""
        names = self.placed | self.overflow
        sums = {name: self.placed.get(name, 0) + self.overflow.get(name, 0) for name in names}
        return {name: count for name, count in sums.items() if count}
