"""Writes decisions of the controllers to annotations of the source, which its owner reads."""

import json
from collections.abc import Hashable, Iterable

from stretto.federation import names
from stretto.federation.controllers.keys import FEDERATED, FederatedItem, find, key_of
from stretto.federation.fleet import HOST, ClusterFleet
from stretto.federation.objects import pending, placements
from stretto.federation.objects.current import current_replicas
from stretto.federation.objects.naming import federated_name
from stretto.reconcile import writes
from stretto.reconcile.cache import Change, Fields


class FeedbackController:
    """Copies decisions from federated objects to annotations of their sources."""

    name = "feedback"

    def __init__(self, fleet: ClusterFleet) -> None:
        """Initialize for the federated objects of a fleet."""
        self._fleet = fleet

    def affected(self, change: Change) -> Iterable[Hashable]:
        """Key of the federated object."""
        if change.source == HOST and change.kind.kind in FEDERATED and change.new is not None:
            yield from key_of(self._fleet, change.object)

    def reconcile(self, key: Hashable, now: float) -> float | None:
        """Write the annotations of one source."""
        item = find(self._fleet, key)
        if item is None or item.federated.is_terminating:
            return None
        if pending.pending(item.federated.annotations):
            return None
        template = item.federated.spec["template"]["metadata"]
        if item.federated.record.name != federated_name(template["name"], item.type.name):
            return None  # the federated object has no source
        source = self._fleet.sources(item.type).get(
            item.federated.record.namespace, template["name"]
        )
        if source is None or source.is_terminating or not _is_scheduled(item):
            return None
        wanted = {
            names.SCHEDULING: _scheduling(item, source.annotations.get(names.SCHEDULING)),
            names.APPLIED_MIGRATION: item.federated.annotations.get(names.APPLIED_MIGRATION),
        }
        changed = {key: x for key, x in wanted.items() if source.annotations.get(key) != x}
        if changed:
            change = {"metadata": {"annotations": changed}}
            writes.patch(self._fleet.host.store, source, change)
        return None


def _is_scheduled(item: FederatedItem) -> bool:
    """True if the scheduler places objects of this kind."""
    return any(names.SCHEDULER in group for group in item.type.pipeline)


def _scheduling(item: FederatedItem, before: str | None) -> str | None:
    """The placement as an annotation; the previous text while the placement is the same."""
    federated = item.federated
    if not placements.placed_by(federated.spec, names.SCHEDULER):
        return None
    placed = dict(sorted(current_replicas(federated, item.type).items()))
    try:
        old: Fields = json.loads(before or "{}")
    except ValueError:
        old = {}
    if old.get("placement") == placed:
        return before
    report = {
        "sourceGeneration": federated.spec["template"]["metadata"].get("generation", 1),
        "fedGeneration": federated.metadata.get("generation", 1),
        "placement": placed,
    }
    return json.dumps(report, separators=(",", ":"))
