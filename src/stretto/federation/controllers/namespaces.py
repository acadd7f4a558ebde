"""Places namespaces in every cluster, so that namespaced objects can be created there."""

import json
from collections.abc import Hashable, Iterable
from typing import Final

from stretto.federation import names
from stretto.federation.fleet import HOST, ClusterFleet
from stretto.federation.objects import pending, placements
from stretto.federation.types import FederatedType
from stretto.reconcile import writes
from stretto.reconcile.cache import Change, Fields, StoredObject

_DEFAULT: Final = "default"
"""A namespace that every new cluster has."""
_KIND: Final = "ClusterFederatedObject"
_MARKS: Final = {
    names.NAMESPACE_CONFLICT: "adopt",
    names.NAMESPACE_ADOPT: json.dumps({"regexp": ".*"}, separators=(",", ":")),
    names.NAMESPACE_ORPHAN: "adopted",
}
"""Annotations with which an existing namespace of a member is adopted, and kept after removal."""


class NamespaceController:
    """Places namespaces in all clusters."""

    name = "namespaces"

    def __init__(self, fleet: ClusterFleet) -> None:
        """Initialize for the namespaces of a fleet."""
        self._fleet = fleet

    def affected(self, change: Change) -> Iterable[Hashable]:
        """Key of the federated object of a namespace; all if a cluster is added or removed."""
        if change.source != HOST:
            return
        if change.kind.kind == _KIND and self._is_namespace(change.object):
            yield change.object.record.name
        elif change.kind.kind == "FederatedCluster" and (change.old is None or change.new is None):
            for each in self._all():
                yield each.record.name

    def reconcile(self, key: Hashable, now: float) -> float | None:
        """Place one namespace."""
        assert isinstance(key, str)
        federated = self._fleet.federated(self._type().federated_kind, "", key)
        if federated is None or federated.is_terminating:
            return None
        if not pending.has_turn(names.NAMESPACES, federated.annotations):
            return None
        changed = self._placed(federated)
        if changed is not None:
            writes.update(self._fleet.host.store, federated, changed)
        return None

    def _placed(self, federated: StoredObject) -> Fields | None:
        """The federated object with its new placement; ``None`` if nothing changes."""
        spec, notes = federated.spec, dict(federated.annotations)
        if self._is_excluded(federated):
            wanted = placements.with_placement(spec, names.NAMESPACES, None)
        else:
            clusters = [each.record.name for each in self._fleet.clusters]
            wanted = placements.with_placement(spec, names.NAMESPACES, clusters)
            notes |= _MARKS
        changed = (wanted, notes) != (spec, dict(federated.annotations))
        notes[names.PENDING] = pending.after(
            names.NAMESPACES, federated.annotations, self._type().pipeline, changed
        )
        if (wanted, notes) == (spec, dict(federated.annotations)):
            return None
        return {
            **federated.fields,
            "spec": wanted,
            "metadata": {**federated.metadata, "annotations": notes},
        }

    def _is_excluded(self, federated: StoredObject) -> bool:
        """True if a namespace stays on the host: a system namespace, or one with an opt-out."""
        name = federated.spec["template"]["metadata"]["name"]
        if name.startswith("kube-") or name in (_DEFAULT, self._fleet.settings.namespace):
            return True
        return federated.annotations.get(names.NO_PROPAGATION) == "true"

    def _type(self) -> FederatedType:
        found = self._fleet.types.of("", "Namespace")
        assert found is not None
        return found

    def _is_namespace(self, federated: StoredObject) -> bool:
        type_ = self._fleet.type_of(federated)
        return type_ is not None and (type_.kind.group, type_.kind.kind) == ("", "Namespace")

    def _all(self) -> Iterable[StoredObject]:
        type_ = self._fleet.types.of("", "Namespace")
        if type_ is not None:
            cache = self._fleet.host.follow_synced(type_.federated_kind)
            yield from filter(self._is_namespace, cache)
