"""Number of replicas that a queue admits, over all clusters of a fleet.

A queue's limit bounds the usage of its subtree. Beyond its guarantee a queue may use only free
capacity that is not part of the unused guarantees of other queues.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from stretto.base.amounts import total_of
from stretto.federation.planner.supply.capacity import Amounts


@dataclass(frozen=True, slots=True)
class QueueShare:
    """Limits of a queue, and the usage of its subtree."""

    #: Name.
    name: str
    #: Amounts that are returned to it on demand.
    guarantee: Amounts = field(default_factory=dict)
    #: Maximum amounts; a resource without an entry is not limited.
    limit: Amounts = field(default_factory=dict)
    #: Amounts of the workloads in its subtree, without the present workload.
    used: Amounts = field(default_factory=dict)

    def unused(self) -> Amounts:
        """Guaranteed amounts that its subtree does not use."""
        return {name: max(0, n - self.used.get(name, 0)) for name, n in self.guarantee.items()}


@dataclass(frozen=True, slots=True)
class QueueDemand:
    """Demand of a workload on its queues."""

    #: Desired replicas.
    replicas: int
    #: Present replicas.
    present: int
    #: Requests of one replica.
    request: Amounts
    #: Its queue and the queue's ancestors.
    path: Sequence[QueueShare]
    #: The other queues: siblings of those on the path.
    others: Sequence[QueueShare] = ()
    #: Free amounts of the fleet; ``None`` if no cluster reports any.
    free: Amounts | None = None


@dataclass(frozen=True, slots=True)
class QueueVerdict:
    """Number of replicas that a workload may have."""

    #: Replicas; never less than the present ones.
    replicas: int
    #: Reason why the others are refused, as a clause; empty if all are admitted.
    reason: str = ""


def admitted(demand: QueueDemand) -> QueueVerdict:
    """The replicas that the queues admit."""
    count, reason = demand.replicas, ""
    for each in demand.path:
        for resource, limit in each.limit.items():
            most = _most(limit - each.used.get(resource, 0), demand.request.get(resource, 0))
            if most is not None and most < count:
                count, reason = most, f"queue {each.name} reaches its limit of {resource}"
    if demand.free is not None and count > demand.present:
        borrowed, resource = _beside_guarantees(demand, demand.free)
        most = max(borrowed, _guaranteed(demand))
        if most < count:
            names = ", ".join(each.name for each in demand.others if each.unused().get(resource))
            count = most
            reason = (
                f"the free {resource} is guaranteed to {names}"
                if names
                else (f"no {resource} is free")
            )
    count = max(count, min(demand.present, demand.replicas))
    return QueueVerdict(count, reason if count < demand.replicas else "")


def _most(amount: int, request: int) -> int | None:
    """Replicas that fit in an amount; ``None`` without a request."""
    return max(0, amount) // request if request > 0 else None


def _guaranteed(demand: QueueDemand) -> int:
    """Replicas within the guarantee of a queue on the path, in every resource."""
    return max((_within(each, demand.request) for each in demand.path), default=0)


def _within(queue: QueueShare, request: Amounts) -> int:
    counts = [
        _most(queue.guarantee.get(name, 0) - queue.used.get(name, 0), amount)
        for name, amount in request.items()
    ]
    return min((each for each in counts if each is not None), default=0)


def _beside_guarantees(demand: QueueDemand, free: Amounts) -> tuple[int, str]:
    """Replicas that fit beside the unused guarantees of other queues, and the scarcest resource."""
    reserved = total_of(each.unused() for each in demand.others)
    counts = {
        name: most
        for name, amount in demand.request.items()
        if name in reserved
        and (most := _most(free.get(name, 0) - reserved[name], amount)) is not None
    }
    if not counts:
        return demand.replicas, ""
    scarce = min(counts, key=lambda name: (counts[name], name))
    return demand.present + counts[scarce], scarce
