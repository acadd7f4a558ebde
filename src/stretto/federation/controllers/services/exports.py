"""Collects the endpoints of exported Services from members to the host.

A member exports a Service while its ServiceExport exists. The endpoints of a member that does not
answer stay unchanged.
"""

from collections.abc import Hashable, Iterable, Iterator
from typing import NamedTuple

from stretto.federation import names
from stretto.federation.fleet import HOST, ClusterFleet, is_joined, is_ready
from stretto.federation.objects.kinds import services
from stretto.federation.types import FederatedType
from stretto.reconcile import writes
from stretto.reconcile.cache import Change, Fields, StoredObject
from stretto.reconcile.reconciler import Later


class ExportKey(NamedTuple):
    """Key of an exported Service."""

    #: Its namespace.
    namespace: str
    #: Its name.
    name: str


class ExportController:
    """Copies EndpointSlices of members to the host."""

    name = "exports"

    def __init__(self, fleet: ClusterFleet) -> None:
        """Initialize for the Services of a fleet."""
        self._fleet = fleet

    def affected(self, change: Change) -> Iterable[Hashable]:
        """Key of the Service of an EndpointSlice or ServiceExport, or of all for a cluster."""
        kind = change.kind.group, change.kind.kind
        delay = 0.0 if change.source == HOST else self._fleet.settings.status_delay
        if kind == services.EXPORT:
            yield Later(ExportKey(*change.object.name), delay)
        elif kind == services.SLICE and change.source != HOST:
            if service := services.service_of(change.object):
                yield Later(ExportKey(change.object.record.namespace, service), delay)
        elif change.kind.kind == "FederatedCluster":
            yield from sorted(self._exported())

    def reconcile(self, key: Hashable, now: float) -> float | None:
        """Update the EndpointSlices of one Service on the host."""
        assert isinstance(key, ExportKey)
        slices = self._fleet.types.of(*services.SLICE)
        exports = self._fleet.types.of(*services.EXPORT)
        if slices is None or exports is None:
            return None
        present = {each.record.name: each for each in self._on_host(slices, key)}
        wanted = dict(self._wanted(key, slices, exports, present))
        store = self._fleet.host.store
        for name, body in wanted.items():
            old = present.get(name)
            if body is None or (old is not None and old.is_terminating):
                continue
            if old is None:
                writes.create(store, slices.kind, body)
            elif not services.is_imported_from(body, old):
                writes.update(store, old, {**old.fields, **_content(body)})
        for name, old in present.items():
            if name not in wanted and not old.is_terminating:
                writes.delete(store, old)
        return None

    # ---------------------------------------------------------------- inside

    def _exported(self) -> set[ExportKey]:
        """Keys of the ServiceExports on the host."""
        exports = self._fleet.types.of(*services.EXPORT)
        if exports is None:
            return set()
        return {ExportKey(*each.name) for each in self._fleet.sources(exports)}

    def _on_host(self, slices: FederatedType, key: ExportKey) -> Iterator[StoredObject]:
        """The imported EndpointSlices of a Service."""
        for each in self._fleet.sources(slices).in_namespace(key.namespace):
            is_imported = names.SOURCE_CLUSTER in each.labels
            if is_imported and each.labels.get(services.SERVICE_NAME) == key.name:
                yield each

    def _wanted(
        self,
        key: ExportKey,
        slices: FederatedType,
        exports: FederatedType,
        present: dict[str, StoredObject],
    ) -> Iterator[tuple[str, Fields | None]]:
        """EndpointSlices for the host by name; ``None`` for a slice that stays unchanged."""
        for cluster in filter(is_joined, self._fleet.clusters):
            name = cluster.record.name
            exported = self._fleet.listed(name, exports.kind)
            found = self._fleet.listed(name, slices.kind)
            if exported is None or found is None or not is_ready(cluster):
                kept = (x for x, y in present.items() if y.labels[names.SOURCE_CLUSTER] == name)
                yield from ((each, None) for each in kept)
                continue
            export = exported.get(*key)
            if export is None or export.is_terminating:
                continue
            for each in found.in_namespace(key.namespace):
                if services.service_of(each) == key.name and not each.is_terminating:
                    yield services.imported_name(name, each), services.imported(name, each)


def _content(body: Fields) -> Fields:
    """The fields of an EndpointSlice except its metadata."""
    return {key: value for key, value in body.items() if key != "metadata"}
