"""The pods of all members, under names that differ between clusters."""

from collections.abc import Iterator, Sequence

from stretto.api.wire.kinds import POD
from stretto.federation.fleet import ClusterFleet
from stretto.reconcile.cache import StoredObject
from stretto.reconcile.scales import NamedPod


class FleetPods:
    """The pods of the connected members; a member that does not answer keeps its last pods."""

    def __init__(self, fleet: ClusterFleet) -> None:
        """Initialize for the members of a fleet."""
        self._fleet = fleet

    def pods(self, namespace: str) -> Sequence[NamedPod]:
        """The pods of a namespace, named ``cluster/pod``: StatefulSets repeat names."""
        return [
            NamedPod(pod_name(cluster, pod.record.name), pod)
            for cluster in self.clusters(namespace)
            for pod in self._of(cluster, namespace)
        ]

    def clusters(self, namespace: str) -> Iterator[str]:
        """Clusters with pods in a namespace, by name."""
        for name, _ in self._fleet.connected():
            if self._of(name, namespace):
                yield name

    def _of(self, cluster: str, namespace: str) -> list[StoredObject]:
        cache = self._fleet.listed(cluster, POD)
        return list(cache.in_namespace(namespace)) if cache is not None else []


def pod_name(cluster: str, name: str) -> str:
    """The name of a pod in the fleet."""
    return f"{cluster}/{name}"
