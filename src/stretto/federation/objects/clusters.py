"""A FederatedCluster as the scheduling reads it."""

from dataclasses import dataclass, field

from stretto.api.types.core import Taint
from stretto.api.types.federation.policies import FederatedCluster
from stretto.api.wire.quantity import amounts
from stretto.federation.fleet import is_ready
from stretto.federation.scheduling.fleet import Amounts, MemberCluster
from stretto.federation.types import FederatedType
from stretto.reconcile.cache import StoredObject


@dataclass(frozen=True, slots=True)
class OfferedSupply:
    """What a cluster offers besides its own report."""

    #: Amounts that are promised to other workloads.
    promised: Amounts = field(default_factory=dict)
    #: CPU in thousandths by model.
    cpu_models: Amounts = field(default_factory=dict)
    #: Free amounts of every node; empty where only the sums count.
    free_nodes: tuple[Amounts, ...] = ()


def member_cluster(
    cluster: StoredObject, type_: FederatedType, supply: OfferedSupply
) -> MemberCluster:
    """A cluster as the scheduling reads it."""
    read = cluster.read(FederatedCluster)
    kind = (type_.kind.group, type_.kind.version, type_.kind.kind)
    served = ((each.group, each.version, each.kind) for each in read.status.api_resource_types)
    resources = read.status.resources
    return MemberCluster(
        name=cluster.record.name,
        labels=read.metadata.labels,
        taints=tuple(Taint(each.key, each.effect, each.value) for each in read.spec.taints),
        ready=is_ready(cluster),
        terminating=cluster.is_terminating,
        serves_kind=kind in served,
        allocatable=amounts(resources.allocatable, "allocatable"),
        available=amounts(resources.available, "available"),
        promised=supply.promised,
        cpu_models=supply.cpu_models,
        free_nodes=supply.free_nodes,
    )
