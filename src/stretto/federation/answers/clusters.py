"""The clusters of a fleet, with their workloads and capacity."""

from stretto.api.types.federation.policies import FederatedCluster
from stretto.api.wire.quantity import amounts
from stretto.federation.answers.records import ClusterFacts
from stretto.federation.answers.subjects import FleetReader
from stretto.federation.fleet import is_joined, is_ready
from stretto.federation.objects.current import current_replicas
from stretto.federation.objects.demand import replicas_of
from stretto.reconcile.cache import StoredObject


def cluster_facts(reader: FleetReader) -> list[ClusterFacts]:
    """All clusters, by name."""
    workloads: dict[str, int] = {}
    replicas: dict[str, int] = {}
    for item in reader.items():
        whole = replicas_of(item.federated.spec["template"], item.type)
        for name, count in current_replicas(item.federated, item.type).items():
            workloads[name] = workloads.get(name, 0) + 1
            replicas[name] = replicas.get(name, 0) + (whole if count is None else count)
    promised = reader.promised()
    return [
        _facts(each, workloads, replicas, promised.get(each.record.name, {}).get("cpu", 0))
        for each in reader.fleet.clusters
    ]


def _facts(
    cluster: StoredObject, workloads: dict[str, int], replicas: dict[str, int], promised: int
) -> ClusterFacts:
    read = cluster.read(FederatedCluster)
    resources = read.status.resources
    total = amounts(resources.allocatable, "allocatable").get("cpu", 0)
    free = amounts(resources.available, "available").get("cpu", 0)
    name = cluster.record.name
    return ClusterFacts(
        name,
        _state(cluster),
        resources.schedulable_nodes or 0,
        total,
        (total - free) / total if total else 0.0,
        workloads.get(name, 0),
        replicas.get(name, 0),
        promised,
        tuple(f"{each.key}={each.value}:{each.effect}" for each in read.spec.taints),
    )


def _state(cluster: StoredObject) -> str:
    if cluster.is_terminating:
        return "leaving"
    if not is_joined(cluster):
        return "joining"
    return "ready" if is_ready(cluster) else "not ready"
