"""Creates a federated object for each source, and keeps its template up to date."""

from collections.abc import Hashable, Iterable
from typing import NamedTuple

from stretto.federation import names
from stretto.federation.controllers.keys import FEDERATED
from stretto.federation.fleet import HOST, ClusterFleet
from stretto.federation.objects import template
from stretto.federation.objects.naming import federated_name
from stretto.federation.types import FederatedType
from stretto.reconcile import writes
from stretto.reconcile.cache import Change, StoredObject


class SourceKey(NamedTuple):
    """Key of a source."""

    #: Name of its FederatedTypeConfig.
    type: str
    #: Its namespace.
    namespace: str
    #: Its name.
    name: str


class FederateController:
    """Creates and updates the federated objects of sources."""

    name = "federate"

    def __init__(self, fleet: ClusterFleet) -> None:
        """Initialize for the sources of a fleet."""
        self._fleet = fleet

    def affected(self, change: Change) -> Iterable[Hashable]:
        """Key of the source, or of the source of a federated object."""
        if change.source != HOST:
            return
        group, kind = change.kind.group, change.kind.kind
        if type_ := self._fleet.types.of(group, kind):
            yield SourceKey(type_.name, *change.object.name)
        elif kind in FEDERATED:
            yield from self._source_of(change.object)
        elif kind == "FederatedTypeConfig":
            yield from self._of_type(change.object.record.name)

    def reconcile(self, key: Hashable, now: float) -> float | None:
        """Create, update or delete the federated object of one source."""
        assert isinstance(key, SourceKey)
        type_ = self._fleet.types.named(key.type)
        if type_ is None:
            return None
        source = self._fleet.sources(type_).get(key.namespace, key.name)
        name = federated_name(key.name, type_.name)
        federated = self._fleet.federated(type_.federated_kind, key.namespace, name)
        if source is None or source.is_terminating or self._stays(source):
            self._end(source, federated)
        elif not self._adds_finalizer(source):
            self._write(type_, source, federated)
        return None

    def _of_type(self, name: str) -> Iterable[SourceKey]:
        type_ = self._fleet.types.named(name)
        if type_ is not None:
            yield from (SourceKey(name, *each.name) for each in self._fleet.sources(type_))

    def _source_of(self, federated: StoredObject) -> Iterable[SourceKey]:
        type_ = self._fleet.type_of(federated)
        owner = next(iter(federated.metadata.get("ownerReferences") or ()), None)
        if type_ is not None and owner is not None:
            yield SourceKey(type_.name, federated.record.namespace, owner["name"])

    def _end(self, source: StoredObject | None, federated: StoredObject | None) -> None:
        """Delete the federated object, then remove the finalizer of the source."""
        store = self._fleet.host.store
        if federated is not None:
            if not federated.is_terminating:
                writes.delete(store, federated)
        elif source is not None:
            freed = writes.with_finalizer(source.fields, names.FEDERATE_FINALIZER, present=False)
            if freed is not None:
                writes.update(store, source, freed)

    def _adds_finalizer(self, source: StoredObject) -> bool:
        """Add the finalizer that keeps a source until members are clean; true if it was absent."""
        marked = writes.with_finalizer(source.fields, names.FEDERATE_FINALIZER, present=True)
        if marked is None:
            return False
        writes.update(self._fleet.host.store, source, marked)
        return True

    def _write(
        self, type_: FederatedType, source: StoredObject, federated: StoredObject | None
    ) -> None:
        """Create the federated object, or update it."""
        store, parts = self._fleet.host.store, template.split(source, type_)
        if federated is None:
            name = federated_name(source.record.name, type_.name)
            writes.create(store, type_.federated_kind, template.created(name, source, parts, type_))
        elif not federated.is_terminating:
            changed = template.updated(federated, parts, type_)
            if changed is not None:
                writes.update(store, federated, changed)

    def _stays(self, source: StoredObject) -> bool:
        """True if a source stays on the host: by its mark, or as an object of the federation.

        The namespace of the federation has the credentials of members, which no member gets.
        """
        is_own = source.record.namespace == self._fleet.settings.namespace
        return is_own or names.NO_FEDERATION in source.annotations
