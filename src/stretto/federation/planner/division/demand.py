"""The input and the output of the default division."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from stretto.base.errors import InputError
from stretto.federation.planner.division.shares import MOST_WEIGHT, UNBOUNDED


@dataclass(frozen=True, slots=True)
class DivisionCluster:
    """A cluster that may run replicas."""

    #: Name.
    name: str
    #: Share of the replicas; 0 gets only the minimum.
    weight: int = 1
    #: Minimum replicas; if all minimums exceed the total, replicas are proportional to the
    #: minimums.
    minimum: int = 0
    #: Maximum replicas; ``None`` for no limit.
    maximum: int | None = None
    #: Replicas that fit; more of them would stay pending. ``None`` if unknown.
    capacity: int | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.weight <= MOST_WEIGHT:
            expected = f"an integer from 0 to {MOST_WEIGHT}"
            raise InputError(f"{self.name}: weight", self.weight, expected)
        if self.minimum < 0:
            raise InputError(f"{self.name}: minReplicas", self.minimum, "0 or more")
        if self.maximum is not None and self.maximum < self.minimum:
            expected = f"at least minReplicas, {self.minimum}"
            raise InputError(f"{self.name}: maxReplicas", self.maximum, expected)

    def most(self) -> int:
        """The upper bound."""
        return UNBOUNDED if self.maximum is None else self.maximum

    def fits(self) -> int:
        """The upper bound of replicas that do not stay pending."""
        return self.most() if self.capacity is None else min(self.most(), max(0, self.capacity))


@dataclass(frozen=True, slots=True)
class DivisionRules:
    """Parameters of a division without its clusters; the fields are those of ``DivisionDemand``."""

    #: Replicas of the workload.
    replicas: int
    #: Replicas that may be moved to approach the exact division; ``None`` for no limit.
    moves: int | None = 0
    #: True if replicas beyond the capacity of their cluster are also kept there.
    keep_unschedulable: bool = False


@dataclass(frozen=True, slots=True)
class DivisionDemand:
    """Replicas to divide."""

    #: Replicas of the workload.
    replicas: int
    #: The clusters; their order has no meaning.
    clusters: tuple[DivisionCluster, ...]
    #: Present replicas; those in clusters that are not listed are moved.
    current: Mapping[str, int] = field(default_factory=dict)
    #: Namespace and name of the workload, which break ties.
    key: str = ""
    #: Replicas that may be moved to approach the exact division; ``None`` for no limit. With 0,
    #: replicas only move if they must.
    moves: int | None = 0
    #: True if replicas beyond the capacity of their cluster are also kept there.
    keep_unschedulable: bool = False

    def __post_init__(self) -> None:
        if self.replicas < 0:
            raise InputError("replicas", self.replicas, "0 or more")
        if self.moves is not None and self.moves < 0:
            raise InputError("moves", self.moves, "0 or more, or none for no limit")
        seen: set[str] = set()
        for each in self.clusters:
            if each.name in seen:
                raise InputError("clusters", each.name, "each cluster once")
            seen.add(each.name)

    @property
    def rules(self) -> DivisionRules:
        """The parameters of the division, without the clusters."""
        return DivisionRules(self.replicas, self.moves, self.keep_unschedulable)


@dataclass(frozen=True, slots=True)
class DivisionPlan:
    """Replicas by cluster; placed, pending and unplaced replicas sum to the desired total."""

    #: Replicas that fit, of every cluster.
    placed: dict[str, int]
    #: Replicas beyond all capacities, which stay pending in their cluster.
    pending: dict[str, int]
    #: Replicas kept beyond the capacity in addition to their replacements elsewhere.
    kept: dict[str, int]
    #: Replicas that may run in no cluster, because all maximums are reached.
    unplaced: int

    def total(self) -> dict[str, int]:
        """The replicas to set, of every cluster."""
        return {
            name: count + self.pending.get(name, 0) + self.kept.get(name, 0)
            for name, count in self.placed.items()
        }
