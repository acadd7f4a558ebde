"""The true contents of the stores of a fleet, read without any cache of the product.

An object is decoded again only after a change of its version, so that the laws are cheap.
"""

from collections.abc import Iterable, Iterator

import msgspec

from stretto.api.kinds.federation import FEDERATED_CLUSTER, FEDERATED_OBJECT
from stretto.api.wire.kinds import DEPLOYMENT, POD, Kind
from stretto.federation import names
from stretto.federation.fleet import is_ready
from stretto.reconcile.cache import StoredObject
from stretto.sim.fleet.server.availability import ServerAvailability
from stretto.stores.store import Store
from stretto_lab.chaos.fleets.workloads import OWN, DrawnWorkload, space_of
from stretto_lab.chaos.fleets.world import FleetWorld


class PodFacts(msgspec.Struct, frozen=True):
    """A pod that is not being deleted."""

    #: Name of its Deployment.
    workload: str
    #: Image of its container.
    image: str
    #: True if it is ready.
    is_ready: bool


class DeploymentFacts(msgspec.Struct, frozen=True):
    """A Deployment of a member."""

    #: Desired replicas.
    replicas: int
    #: True if the federation manages it.
    is_managed: bool


class FleetTruth:
    """Facts about the pods and Deployments of all members, and the federated objects."""

    def __init__(self, world: FleetWorld) -> None:
        """Read the fleet of a world."""
        self._world = world
        self._decoded: dict[tuple[str, str], tuple[int, object]] = {}
        self._pods: dict[str, tuple[int, list[PodFacts]]] = {}

    def pods(self, cluster: str, workload: str | None = None) -> list[PodFacts]:
        """The pods of a workload in a cluster that are not being deleted."""
        store = self._world.fleet.members[cluster].store
        version, found = self._pods.get(cluster, (-1, []))
        if version != store.version:
            found = list(self._read_pods(cluster, store))
            self._pods[cluster] = store.version, found
        return [each for each in found if workload in (None, each.workload)]

    def everywhere(self, workload: str, clusters: Iterable[str]) -> list[PodFacts]:
        """The pods of a workload in some clusters."""
        return [pod for name in clusters for pod in self.pods(name, workload)]

    def deployment(self, cluster: str, name: str) -> DeploymentFacts | None:
        """A Deployment of a member."""
        found = self._object(
            self._world.fleet.members[cluster].store, DEPLOYMENT, space_of(name), name
        )
        if found is None:
            return None
        is_managed = found.labels.get(names.MANAGED) == "true"
        return DeploymentFacts(found.spec["replicas"], is_managed)

    def answers(self, cluster: str) -> bool:
        """True if a member answers, and the status of its FederatedCluster reports this."""
        found = self._object(self._world.fleet.host, FEDERATED_CLUSTER.kind, "", cluster)
        is_readable = self._world.fleet.members[cluster].served.is_readable
        return found is not None and is_ready(found) and is_readable

    def shows(self, cluster: str) -> bool:
        """True if the watches of a member do not stall."""
        return self._world.fleet.members[cluster].served.availability is ServerAvailability.ANSWERS

    def is_untouched(self, cluster: str) -> bool:
        """True if the Deployment of another owner is unchanged."""
        found = self._object(
            self._world.fleet.members[cluster].store, DEPLOYMENT, space_of(OWN), OWN
        )
        return found is not None and not found.labels and found.spec["replicas"] == 1

    def federated(self, work: DrawnWorkload) -> StoredObject | None:
        """The federated object of a workload."""
        place = space_of(work.name), f"{work.name}-deployments.apps"
        return self._object(self._world.fleet.host, FEDERATED_OBJECT.kind, *place)

    # ---------------------------------------------------------------- inside

    def _object(self, store: Store, kind: Kind, space: str, name: str) -> StoredObject | None:
        record = store.get(kind, space, name)
        if record is None:
            return None
        place = record.uid, kind.kind
        version, known = self._decoded.get(place, (-1, None))
        if version != record.version or not isinstance(known, StoredObject):
            known = StoredObject(record)
            self._decoded[place] = record.version, known
        return known

    def _read_pods(self, cluster: str, store: Store) -> Iterator[PodFacts]:
        for record in store.list(POD).records:
            if record.deleting:
                continue
            place = record.uid, cluster
            version, known = self._decoded.get(place, (-1, None))
            if version != record.version or not isinstance(known, PodFacts):
                known = _facts(StoredObject(record))
                self._decoded[place] = record.version, known
            yield known


def _facts(pod: StoredObject) -> PodFacts:
    conditions = pod.status.get("conditions") or ()
    is_ready = any(x["type"] == "Ready" and x["status"] == "True" for x in conditions)
    image = pod.spec["containers"][0]["image"]
    return PodFacts(pod.record.name.partition("-")[0], image, is_ready)
