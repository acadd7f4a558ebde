"""What a decision depends on besides its object: clusters, time, and how replicas are divided."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from stretto.federation.objects.clusters import OfferedSupply, member_cluster
from stretto.federation.scheduling.fleet import MemberFleet
from stretto.federation.scheduling.kubeadmiral import ReplicaDivider
from stretto.federation.types import FederatedType
from stretto.reconcile.cache import StoredObject

NO_SUPPLY: Final = OfferedSupply()


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What a decision depends on besides the object and its rules."""

    #: The clusters that have joined.
    clusters: tuple[StoredObject, ...]
    #: Seconds since the epoch; migrations end by it.
    wall_time: float
    #: Whether scores count the CPU and the memory of a replica.
    counts_requests: bool = True
    #: The division; ``None`` is KubeAdmiral's.
    divide: ReplicaDivider | None = None
    #: What clusters offer besides their reports, by cluster.
    supply: Mapping[str, OfferedSupply] = field(default_factory=dict)
    #: Replicas of this object that its clusters do not report yet.
    starting: Mapping[str, int] = field(default_factory=dict)


def member_fleet(type_: FederatedType, found: Circumstances) -> MemberFleet:
    """The clusters as the scheduling stages read them, for objects of one kind."""
    return MemberFleet(
        tuple(
            member_cluster(each, type_, found.supply.get(each.record.name, NO_SUPPLY))
            for each in found.clusters
        )
    )
