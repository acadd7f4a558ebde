"""Merges the status of members into the status of the source."""

from collections.abc import Hashable, Iterable
from functools import partial

from stretto.base.clock import Clock
from stretto.base.errors import InputError
from stretto.federation import names
from stretto.federation.controllers.federate import SourceKey
from stretto.federation.controllers.keys import FEDERATED
from stretto.federation.controllers.reports import ObjectReporter
from stretto.federation.fleet import HOST, ClusterFleet, is_ready
from stretto.federation.objects import pending
from stretto.federation.objects.aggregation.builtin import Aggregate, aggregate_of, is_observed
from stretto.federation.objects.aggregation.rules import aggregated
from stretto.federation.objects.naming import federated_name
from stretto.federation.problems import AGGREGATED, ObjectCondition
from stretto.federation.types import FederatedType
from stretto.reconcile import writes
from stretto.reconcile.cache import Change, Fields, StoredObject
from stretto.reconcile.reconciler import Later


class AggregationController:
    """From members to the status of sources."""

    name = "aggregate"

    def __init__(self, fleet: ClusterFleet, clock: Clock) -> None:
        """For the sources of a fleet; ``clock`` gives the times of conditions."""
        self._fleet = fleet
        self._reporter = ObjectReporter(fleet, clock)

    def affected(self, change: Change) -> Iterable[Hashable]:
        """The source of an object that changed in a member or on the host."""
        kind = change.kind
        if change.source == HOST and kind.kind in FEDERATED:
            type_ = self._fleet.type_of(change.object)
            if type_ is not None:
                name = change.object.spec["template"]["metadata"]["name"]
                yield SourceKey(type_.name, change.object.record.namespace, name)
        elif (type_ := self._fleet.types.of(kind.group, kind.kind)) is not None:
            delay = 0.0 if change.source == HOST else self._fleet.settings.status_delay
            yield Later(SourceKey(type_.name, *change.object.name), delay)

    def reconcile(self, key: Hashable, now: float) -> float | None:
        """Aggregate the status of one source."""
        assert isinstance(key, SourceKey)
        type_ = self._fleet.types.named(key.type)
        rule = _rule(type_) if type_ is not None and type_.aggregates else None
        if type_ is None or rule is None:
            return None
        source = self._fleet.sources(type_).get(key.namespace, key.name)
        name = federated_name(key.name, type_.name)
        federated = self._fleet.federated(type_.federated_kind, key.namespace, name)
        if source is None or source.is_terminating or federated is None:
            return None
        objects = self._objects(type_, federated)
        try:
            status = rule(objects) if objects else self._emptied(source)
        except InputError as error:
            text = f"{error}: correct the FederatedTypeConfig {type_.name}"
            self._reporter.write(federated, [ObjectCondition(AGGREGATED, "InvalidRule", text)])
            return None
        self._reporter.write(federated, [ObjectCondition(AGGREGATED)])
        if type_.kind.kind in ("Deployment", "StatefulSet"):
            status["observedGeneration"] = self._observed(source, federated, objects)
        changed = {key: value for key, value in status.items() if source.status.get(key) != value}
        if changed:
            writes.patch_status(self._fleet.host.store, source, changed)
        return None

    def _objects(self, type_: FederatedType, federated: StoredObject) -> list[StoredObject]:
        """The object in each cluster that is ready, also in one that it was not placed in."""
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

    def _emptied(self, source: StoredObject) -> Fields:
        """A status without anything that came from members."""
        return dict.fromkeys(source.status)

    def _observed(
        self, source: StoredObject, federated: StoredObject, objects: list[StoredObject]
    ) -> int | None:
        """The generation of the source that all members have observed; else the last one."""
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


def _rule(type_: FederatedType) -> Aggregate | None:
    """How the status of a kind is aggregated; ``None`` if it is not."""
    if type_.status_rules:
        return partial(aggregated, type_.status_rules)
    return aggregate_of(type_.kind.kind)
