"""Computes the overrides of each cluster from override policies."""

from collections.abc import Hashable, Iterable, Iterator

from stretto.federation import names
from stretto.federation.controllers.keys import (
    FEDERATED,
    FederatedKey,
    everything,
    find_for_turn,
    key_of,
    labelled,
)
from stretto.federation.controllers.placing.differences import OVERRIDE_LABELS, DifferenceFinder
from stretto.federation.controllers.reports import ObjectReporter
from stretto.federation.fleet import HOST, ClusterFleet
from stretto.federation.objects import pending
from stretto.federation.problems import ObjectProblemError
from stretto.reconcile import writes
from stretto.reconcile.cache import Change
from stretto.reconcile.reconciler import Sweep


class OverrideController:
    """Writes the overrides of each cluster, as override policies define them."""

    name = "override"

    def __init__(self, fleet: ClusterFleet, reporter: ObjectReporter) -> None:
        """Initialize for the federated objects of a fleet; ``reporter`` writes conditions."""
        self._fleet = fleet
        self._reporter = reporter
        self._differences = DifferenceFinder(fleet)

    def affected(self, change: Change) -> Iterable[Hashable]:
        """Key of the federated object, those of a policy, or all after a change of a cluster."""
        kind = change.kind.kind
        if change.source != HOST:
            return
        if kind in FEDERATED:
            yield from key_of(self._fleet, change.object)
        elif label := OVERRIDE_LABELS.get(kind):
            yield from labelled(self._fleet, label, change.object.record.name)
        elif kind == "FederatedCluster":
            yield Sweep("overridden", self._overridden)

    def _overridden(self) -> Iterator[FederatedKey]:
        """Keys of the objects whose labels name an override policy."""
        for item in everything(self._fleet):
            if any(label in item.federated.labels for label in OVERRIDE_LABELS.values()):
                yield item.key

    def reconcile(self, key: Hashable, now: float) -> float | None:
        """Compute the overrides of one object."""
        item = find_for_turn(self._fleet, key, names.OVERRIDES)
        if item is None:
            return None
        federated = item.federated
        try:
            spec, condition = self._differences.overridden(item)
        except ObjectProblemError as error:
            self._reporter.write_problem(federated, error)
            raise
        changed = spec != federated.spec
        notes = dict(federated.annotations)
        notes[names.PENDING] = pending.after(
            names.OVERRIDES, federated.annotations, item.type.pipeline, changed
        )
        if changed or notes != dict(federated.annotations):
            metadata = {**federated.metadata, "annotations": notes}
            fields = {**federated.fields, "metadata": metadata, "spec": spec}
            writes.update(self._fleet.host.store, federated, fields)
        self._reporter.write(federated, [condition])
        return None
