"""Status that members report about the objects of one source."""

from collections.abc import Iterator

from stretto.api.types.federation.objects import PropagationStatus
from stretto.federation import names
from stretto.federation.fleet import ClusterFleet, is_ready
from stretto.federation.objects import pending
from stretto.federation.objects.aggregation.builtin import is_observed
from stretto.federation.objects.naming import federated_name
from stretto.federation.types import FederatedType
from stretto.reconcile.cache import Name, StoredObject


class MemberObservation:
    """Reads the objects of members."""

    def __init__(self, fleet: ClusterFleet) -> None:
        """Initialize for the members of a fleet."""
        self._fleet = fleet

    def objects(self, type_: FederatedType, federated: StoredObject) -> list[StoredObject]:
        """The object in each ready cluster, also in clusters outside its placement."""
        found = []
        template = federated.spec["template"]["metadata"]
        for cluster in self._fleet.clusters:
            member = self._fleet.member(cluster.record.name)
            if member is not None and is_ready(cluster):
                cache = member.follow_synced(type_.kind)
                present = cache.get(federated.record.namespace, template["name"])
                if present is not None and present.labels.get(names.MANAGED) == "true":
                    found.append(present)
        return found

    def of_readiness(self, cluster: str, *, counts: bool) -> Iterator[tuple[FederatedType, Name]]:
        """Types and names of the objects of a cluster whose status counts again, or no longer.

        Args:
            cluster: name of a cluster that has become ready, or not ready.
            counts: true if it is ready. If not, only objects whose federated object reports a
                problem in the cluster no longer count.
        """
        for type_ in self._fleet.types:
            present = self._fleet.listed(cluster, type_.kind) if type_.aggregates else None
            for each in present or ():
                if counts or self._reports_problem(type_, each.name, cluster):
                    yield type_, each.name

    def _reports_problem(self, type_: FederatedType, place: Name, cluster: str) -> bool:
        """True if the federated object of a member's object reports a problem in its cluster."""
        own = federated_name(place[1], type_.name)
        federated = self._fleet.federated(type_.federated_kind, place[0], own)
        states = federated.status.get("clusters") or () if federated is not None else ()
        return any(x["cluster"] == cluster and x["status"] != PropagationStatus.OK for x in states)


def observed_generation(
    source: StoredObject, federated: StoredObject, objects: list[StoredObject]
) -> int | None:
    """Generation of the source that all members have observed; else the last observed one."""
    before: int | None = source.status.get("observedGeneration")
    generation = source.metadata.get("generation", 1)
    template = federated.spec["template"]["metadata"]
    states = federated.status
    complete = (
        template.get("generation", 1) == generation
        and not pending.pending(federated.annotations)
        and states.get("syncedGeneration") == federated.metadata.get("generation", 1)
        and all(each["status"] == "OK" for each in states.get("clusters") or ())
        and all(map(is_observed, objects))
    )
    return generation if complete else before
