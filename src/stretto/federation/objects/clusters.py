"""A FederatedCluster as the scheduling reads it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from stretto.api.types.core import Taint
from stretto.api.types.federation.policies import FederatedCluster
from stretto.api.wire.quantity import amounts
from stretto.federation.fleet import is_ready
from stretto.federation.scheduling.fleet import Amounts, MemberCluster
from stretto.federation.types import FederatedType
from stretto.reconcile.cache import StoredObject


@dataclass(frozen=True, slots=True)
class ClusterNodes:
    """What the nodes of a cluster offer besides its own report."""

    #: CPU in thousandths by model.
    cpu_models: Amounts = field(default_factory=dict)
    #: Free amounts of every node; empty where only the sums count.
    free_nodes: tuple[Amounts, ...] = ()


@dataclass(frozen=True, slots=True)
class DecodedCluster:
    """A decoded cluster, and the kinds that it serves."""

    #: The cluster, as one that serves the kind of a workload.
    member: MemberCluster
    #: Group, version and kind of what it serves.
    served: frozenset[tuple[str, str, str]]

    def for_type(self, type_: FederatedType) -> MemberCluster:
        """The cluster for objects of a kind."""
        kind = (type_.kind.group, type_.kind.version, type_.kind.kind)
        return self.member if kind in self.served else replace(self.member, serves_kind=False)

    def differs_in_amounts_only(self, other: "DecodedCluster") -> bool:
        """True if nothing else distinguishes another state of the cluster."""
        return self.served == other.served and _bare(self.member) == _bare(other.member)


def decoded_cluster(cluster: StoredObject, supply: ClusterNodes) -> DecodedCluster:
    """A cluster as the scheduling reads it."""
    read = cluster.read(FederatedCluster)
    resources = read.status.resources
    member = MemberCluster(
        name=cluster.record.name,
        labels=read.metadata.labels,
        taints=tuple(Taint(each.key, each.effect, each.value) for each in read.spec.taints),
        ready=is_ready(cluster),
        terminating=cluster.is_terminating,
        allocatable=amounts(resources.allocatable, "allocatable"),
        available=amounts(resources.available, "available"),
        cpu_models=supply.cpu_models,
        free_nodes=supply.free_nodes,
    )
    served = frozenset((x.group, x.version, x.kind) for x in read.status.api_resource_types)
    return DecodedCluster(member, served)


_NOTHING: Mapping[str, int] = {}


def _bare(member: MemberCluster) -> MemberCluster:
    """A cluster without its amounts."""
    return replace(
        member, allocatable=_NOTHING, available=_NOTHING, cpu_models=_NOTHING, free_nodes=()
    )
