"""Propagates imported Services to their clusters: a Service, and the endpoints of other clusters.

The Service of an import has no source on the host: the federated object of the import owns its
federated object. A cluster that runs the Service itself receives only the endpoints of the other
clusters.
"""

from collections.abc import Hashable, Iterable, Iterator

from stretto.federation import names
from stretto.federation.controllers.keys import FEDERATED, is_status_only
from stretto.federation.controllers.services.exports import ExportKey
from stretto.federation.fleet import HOST, ClusterFleet
from stretto.federation.objects import pending, placements
from stretto.federation.objects.kinds import services
from stretto.federation.objects.naming import federated_name
from stretto.federation.types import FederatedType
from stretto.reconcile import writes
from stretto.reconcile.cache import Change, Fields, StoredObject


class ImportController:
    """Creates federated Services and EndpointSlices for ServiceImports."""

    name = "imports"

    def __init__(self, fleet: ClusterFleet) -> None:
        """Initialize for the Services of a fleet."""
        self._fleet = fleet

    def affected(self, change: Change) -> Iterable[Hashable]:
        """Key of the Service of a federated import, Service or EndpointSlice."""
        if change.source != HOST or change.kind.kind not in FEDERATED or is_status_only(change):
            return
        type_ = self._fleet.type_of(change.object)
        kind = (type_.kind.group, type_.kind.kind) if type_ is not None else None
        metadata = (change.object.spec.get("template") or {}).get("metadata") or {}
        space = change.object.record.namespace
        if kind in (services.IMPORT, services.SERVICE):
            yield ExportKey(space, metadata["name"])
        elif kind == services.SLICE:
            service = (metadata.get("labels") or {}).get(services.SERVICE_NAME)
            if service:
                yield ExportKey(space, service)

    def reconcile(self, key: Hashable, now: float) -> float | None:
        """Propagate one Service to the clusters that import it."""
        assert isinstance(key, ExportKey)
        imports = self._fleet.types.of(*services.IMPORT)
        if imports is None:
            return None
        item = self._federated(imports, key.namespace, key.name)
        if item is not None and item.is_terminating:
            item = None
        clusters = placements.placement(item.spec) if item is not None else set()
        self._serve(key, item, clusters)
        for each in self._slices(key):
            source = each.spec["template"]["metadata"]["labels"][names.SOURCE_CLUSTER]
            wanted = placements.with_placement(each.spec, names.IMPORTS, clusters - {source})
            if wanted != each.spec:
                writes.update(self._fleet.host.store, each, {**each.fields, "spec": wanted})
        return None

    # ---------------------------------------------------------------- inside

    def _federated(self, type_: FederatedType, namespace: str, name: str) -> StoredObject | None:
        """The federated object of a source."""
        return self._fleet.federated(
            type_.federated_kind, namespace, federated_name(name, type_.name)
        )

    def _slices(self, key: ExportKey) -> Iterator[StoredObject]:
        """The federated EndpointSlices that other clusters export for a Service."""
        type_ = self._fleet.types.of(*services.SLICE)
        for federated in self._fleet.federated_of(type_) if type_ is not None else ():
            if federated.record.namespace == key.namespace:
                labels = federated.spec["template"]["metadata"].get("labels") or {}
                is_imported = names.SOURCE_CLUSTER in labels
                same = is_imported and labels.get(services.SERVICE_NAME) == key.name
                if same and not federated.is_terminating:
                    yield federated

    def _serve(self, key: ExportKey, item: StoredObject | None, clusters: set[str]) -> None:
        """Create, update or delete the federated Service of an import."""
        type_ = self._fleet.types.of(*services.SERVICE)
        if type_ is None:
            return
        store = self._fleet.host.store
        own = self._federated(type_, key.namespace, key.name)
        runs = placements.placement(own.spec) if own is not None else set()
        present = self._federated(type_, key.namespace, services.derived_name(key.name))
        if present is not None and not services.is_derived(present):
            return
        if item is None:
            if present is not None and not present.is_terminating:
                writes.delete(store, present)
            return
        template = services.derived(item)
        spec = placements.with_placement({"template": template}, names.IMPORTS, clusters - runs)
        if present is None:
            writes.create(store, type_.federated_kind, _created(type_, item, spec, key.name))
        elif not present.is_terminating and spec != present.spec:
            writes.update(store, present, {**present.fields, "spec": spec})


def _created(type_: FederatedType, item: StoredObject, spec: Fields, service: str) -> Fields:
    """A new federated Service, owned by a federated import."""
    kind, owner = type_.federated_kind, item.record
    reference = {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "name": owner.name,
        "uid": owner.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
    notes = {
        names.DERIVED_SERVICE: service,
        names.ENABLE_FOLLOWING: "false",
        names.PENDING: pending.written(()),
    }
    metadata = {
        "name": federated_name(services.derived_name(service), type_.name),
        "namespace": owner.namespace,
        "annotations": notes,
        "ownerReferences": [reference],
    }
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, "spec": spec}
