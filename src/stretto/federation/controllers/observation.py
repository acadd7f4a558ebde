"""Status that members report about the objects of one source."""

from stretto.federation import names
from stretto.federation.fleet import ClusterFleet, is_ready
from stretto.federation.objects import pending
from stretto.federation.objects.aggregation.builtin import is_observed
from stretto.federation.types import FederatedType
from stretto.reconcile.cache import StoredObject


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
