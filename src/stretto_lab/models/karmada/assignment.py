"""Assignment of replicas to the selected clusters, with Karmada's results.

Static weights divide all replicas from scratch. The dynamic strategies keep present replicas and
divide the difference: free replicas are the weights to scale up, present replicas are the weights
to scale down. Sums of replicas have 32 bits and wrap.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from stretto_lab.models.karmada import webster
from stretto_lab.models.karmada.integers import int32


class DivisionStrategy(StrEnum):
    """Karmada's strategies for the assignment of replicas."""

    #: All replicas to every cluster.
    DUPLICATED = "Duplicated"
    #: As few clusters as possible.
    AGGREGATED = "Aggregated"
    #: By the weights of the policy.
    STATIC_WEIGHT = "StaticWeight"
    #: By free replicas.
    DYNAMIC_WEIGHT = "DynamicWeight"


class AssignmentError(Exception):
    """Error for replicas that cannot be assigned; the message is Karmada's."""


@dataclass(frozen=True, slots=True)
class ReplicaCandidate:
    """A selected cluster."""

    #: Name.
    name: str
    #: Free replicas.
    allocatable: int
    #: Number of the affinity group; replicas overflow to the next group.
    tier: int = 0


@dataclass(frozen=True, slots=True)
class AssignmentDemand:
    """Replicas to assign."""

    #: The strategy.
    strategy: DivisionStrategy
    #: Replicas of the workload.
    replicas: int
    #: The selected clusters, best first.
    candidates: tuple[ReplicaCandidate, ...]
    #: Present replicas by cluster, in order; clusters that are not selected are included.
    previous: Mapping[str, int] = field(default_factory=dict)
    #: Weights of the policy by candidate; ``None`` for equal weights.
    weights: Mapping[str, int] | None = None
    #: Identifier of the workload, which decides ties.
    uid: str = ""
    #: True if all replicas are divided from scratch.
    fresh: bool = False
    #: True if candidates of later tiers take only replicas that earlier tiers cannot take.
    overflow: bool = False


def assign(demand: AssignmentDemand) -> dict[str, int]:
    """Replicas by cluster, without clusters that get none.

    Raises:
        AssignmentError: the clusters have too few free replicas.
    """
    if not demand.overflow:
        return _assign(demand)
    found: dict[str, int] = {}
    rest = demand.replicas
    for tier in sorted({each.tier for each in demand.candidates}):
        members = tuple(each for each in demand.candidates if each.tier == tier)
        headroom = sum(each.allocatable + demand.previous.get(each.name, 0) for each in members)
        count = int32(min(rest, headroom))
        found |= _assign(replace(demand, candidates=members, replicas=count))
        rest -= count
        if rest <= 0:
            return found
    raise AssignmentError("unschedulable: Clusters available replicas are not enough to schedule.")


def _assign(demand: AssignmentDemand) -> dict[str, int]:
    counts = _STRATEGIES[demand.strategy](demand)
    return {name: count for name, count in counts.items() if count > 0}


def _duplicated(demand: AssignmentDemand) -> dict[str, int]:
    return {each.name: demand.replicas for each in demand.candidates}


def _static(demand: AssignmentDemand) -> dict[str, int]:
    """Assignment by the weights of the policy; equally if no candidate has one."""
    votes = {each.name: 1 for each in demand.candidates}
    weights = demand.weights or {}
    weighed = {name: weights[name] for name in votes if weights.get(name, 0) > 0}
    return webster.divide(demand.replicas, weighed or votes, {}, demand.uid)


def _dynamic(demand: AssignmentDemand) -> dict[str, int]:
    """Assignment of the difference to the present replicas, or of all replicas."""
    selected = {each.name for each in demand.candidates}
    present = {name: n for name, n in demand.previous.items() if name in selected}
    assigned = _sum(present.values())
    free = {each.name: each.allocatable for each in demand.candidates}
    if demand.fresh:
        headroom = {name: int32(count + present.get(name, 0)) for name, count in free.items()}
        return _by_headroom(demand, demand.replicas, headroom, {})
    if assigned > demand.replicas:
        return _by_headroom(demand, demand.replicas, present, {})
    if assigned < demand.replicas:
        missing = int32(demand.replicas - assigned)
        return _by_headroom(demand, missing, free, present)
    return present


def _by_headroom(
    demand: AssignmentDemand,
    replicas: int,
    headroom: Mapping[str, int],
    kept: Mapping[str, int],
) -> dict[str, int]:
    """Divide ``replicas`` in proportion to ``headroom`` and add them to ``kept``."""
    available = _sum(headroom.values())
    if available < replicas:
        message = f"Clusters available replicas {available} are not enough to schedule."
        raise AssignmentError(f"unschedulable: {message}")
    ordered: Sequence[str] = sorted(headroom, key=lambda name: -headroom[name])
    if demand.strategy is DivisionStrategy.AGGREGATED:
        ordered = _fewest(_present_first(ordered, kept), headroom, replicas)
    votes = {name: headroom[name] for name in ordered}
    added = webster.divide(replicas, votes, {}, demand.uid)
    return {name: kept.get(name, 0) + added.get(name, 0) for name in {**added, **kept}}


def _present_first(ordered: Sequence[str], present: Mapping[str, int]) -> list[str]:
    """Clusters with replicas first; both parts keep their order."""
    return sorted(ordered, key=lambda name: present.get(name, 0) <= 0)


def _fewest(ordered: Sequence[str], headroom: Mapping[str, int], replicas: int) -> Sequence[str]:
    """The shortest prefix with sufficient headroom."""
    total = 0
    for at, name in enumerate(ordered):
        total = int32(total + headroom[name])
        if total >= replicas:
            return ordered[: at + 1]
    return ordered


def _sum(counts: Iterable[int]) -> int:
    return int32(sum(counts))


_STRATEGIES: Final[Mapping[DivisionStrategy, Callable[[AssignmentDemand], dict[str, int]]]] = {
    DivisionStrategy.DUPLICATED: _duplicated,
    DivisionStrategy.AGGREGATED: _dynamic,
    DivisionStrategy.STATIC_WEIGHT: _static,
    DivisionStrategy.DYNAMIC_WEIGHT: _dynamic,
}
