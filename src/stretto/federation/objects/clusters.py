"""A FederatedCluster as input of scheduling."""

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
    """Capacity of the nodes of a cluster, which the cluster's report does not contain."""

    #: CPU in thousandths of a core, by CPU model.
    cpu_models: Amounts = field(default_factory=dict)
    #: Free amounts of every node; empty if only the sums are used.
    free_nodes: tuple[Amounts, ...] = ()


@dataclass(frozen=True, slots=True)
class DecodedCluster:
    """A decoded cluster, and the kinds that it serves."""

    #: The cluster; it must still be checked for the kind of a workload.
    member: MemberCluster
    #: Group, version and kind of every served kind.
    served: frozenset[tuple[str, str, str]]

    def for_type(self, type_: FederatedType) -> MemberCluster:
        """The cluster for objects of a kind."""
        kind = (type_.kind.group, type_.kind.version, type_.kind.kind)
        return self.member if kind in self.served else replace(self.member, serves_kind=False)

    def differs_in_amounts_only(self, other: "DecodedCluster") -> bool:
        """True if two states of a cluster differ at most in amounts."""
        return self.served == other.served and _bare(self.member) == _bare(other.member)


def decoded_cluster(cluster: StoredObject, supply: ClusterNodes) -> DecodedCluster:
    """A cluster as input of scheduling."""
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
