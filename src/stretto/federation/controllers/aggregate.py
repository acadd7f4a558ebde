"""Merges the status of members into the status of the source."""

from collections.abc import Hashable, Iterable, Iterator

from stretto.federation.controllers.federate import SourceKey
from stretto.federation.controllers.keys import FEDERATED
from stretto.federation.controllers.observation import MemberObservation, observed_generation
from stretto.federation.controllers.reports import ObjectReporter
from stretto.federation.fleet import HOST, ClusterFleet, is_ready
from stretto.federation.objects.aggregation.rules import rule_of
from stretto.federation.objects.naming import federated_name
from stretto.federation.problems import AGGREGATED, ObjectCondition, ObjectProblemError
from stretto.reconcile import writes
from stretto.reconcile.cache import Change, Fields, StoredObject
from stretto.reconcile.reconciler import Later, Sweep


class AggregationController:
    """Aggregates the status of members into the status of sources."""

    name = "aggregate"

    def __init__(self, fleet: ClusterFleet, reporter: ObjectReporter) -> None:
        """Initialize for the sources of a fleet; ``reporter`` writes conditions."""
        self._fleet = fleet
        self._members = MemberObservation(fleet)
        self._reporter = reporter

    def affected(self, change: Change) -> Iterable[Hashable]:
        """The source of an object that changed in a member or on the host.

        A cluster that is ready again concerns the sources of all its objects. A cluster that is no
        longer ready concerns only the sources whose federated object already reports it: the others
        keep the last known status.
        """
        kind = change.kind
        if change.source == HOST and kind.kind in FEDERATED:
            type_ = self._fleet.type_of(change.object)
            if type_ is not None:
                name = change.object.spec["template"]["metadata"]["name"]
                yield SourceKey(type_.name, change.object.record.namespace, name)
        elif change.source == HOST and kind.kind == "FederatedCluster":
            yield from self._of_readiness(change)
        elif (type_ := self._fleet.types.of(kind.group, kind.kind)) is not None:
            delay = 0.0 if change.source == HOST else self._fleet.settings.status_delay
            yield Later(SourceKey(type_.name, *change.object.name), delay)

    def reconcile(self, key: Hashable, now: float) -> float | None:
        """Aggregate the status of one source."""
        assert isinstance(key, SourceKey)
        type_ = self._fleet.types.named(key.type)
        rule = rule_of(type_) if type_ is not None and type_.aggregates else None
        if type_ is None or rule is None:
            return None
        source = self._fleet.sources(type_).get(key.namespace, key.name)
        name = federated_name(key.name, type_.name)
        federated = self._fleet.federated(type_.federated_kind, key.namespace, name)
        if source is None or source.is_terminating or federated is None:
            return None
        objects = self._members.objects(type_, federated)
        try:
            status = rule(objects) if objects else self._emptied(source)
        except ObjectProblemError as error:
            self._reporter.write_problem(federated, error)
            return None
        self._reporter.write(federated, [ObjectCondition(AGGREGATED)])
        if type_.kind.kind in ("Deployment", "StatefulSet"):
            status["observedGeneration"] = observed_generation(source, federated, objects)
        changed = {key: value for key, value in status.items() if source.status.get(key) != value}
        if changed:
            writes.patch_status(self._fleet.host.store, source, changed)
        return None

    def _of_readiness(self, change: Change) -> Iterator[Sweep]:
        """The sources whose status changes with the readiness of a cluster."""
        old, new = change.old, change.new
        if old is None or new is None or is_ready(old) == is_ready(new):
            return
        cluster, counts = new.record.name, is_ready(new)

        def keys() -> Iterator[SourceKey]:
            for type_, (namespace, name) in self._members.of_readiness(cluster, counts=counts):
                yield SourceKey(type_.name, namespace, name)

        yield Sweep(f"{cluster} ready: {counts}", keys)

    def _emptied(self, source: StoredObject) -> Fields:
        """A status with all its fields removed."""
        return dict.fromkeys(source.status)
