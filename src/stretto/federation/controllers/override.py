"""Computes the differences between clusters from override policies."""

from collections.abc import Hashable, Iterable
from typing import Final

from stretto.api.kinds.federation import CLUSTER_OVERRIDE_POLICY, OVERRIDE_POLICY
from stretto.api.types.federation.policies import OverridePolicy, OverrideRule
from stretto.base.errors import InputError
from stretto.federation import names
from stretto.federation.controllers.keys import (
    FEDERATED,
    everything,
    find_for_turn,
    key_of,
    labelled,
)
from stretto.federation.fleet import HOST, ClusterFleet
from stretto.federation.objects import overriding, pending, placements
from stretto.reconcile import writes
from stretto.reconcile.cache import Change, Fields, StoredObject
from stretto.reconcile.reconciler import RetryError

_POLICIES: Final = {
    CLUSTER_OVERRIDE_POLICY.kind.kind: names.CLUSTER_OVERRIDE_POLICY,
    OVERRIDE_POLICY.kind.kind: names.OVERRIDE_POLICY,
}
"""Kinds of policies and the labels that name them, in the order in which they apply."""


class OverrideController:
    """From override policies to the differences of each cluster."""

    name = "override"

    def __init__(self, fleet: ClusterFleet) -> None:
        """For the federated objects of a fleet."""
        self._fleet = fleet
        self._caches = {
            names.CLUSTER_OVERRIDE_POLICY: fleet.host.follow(CLUSTER_OVERRIDE_POLICY.kind),
            names.OVERRIDE_POLICY: fleet.host.follow(OVERRIDE_POLICY.kind),
        }

    def affected(self, change: Change) -> Iterable[Hashable]:
        """The federated object, those of a policy, or all after a change of a cluster."""
        kind = change.kind.kind
        if change.source != HOST:
            return
        if kind in FEDERATED:
            yield from key_of(self._fleet, change.object)
        elif label := _POLICIES.get(kind):
            yield from labelled(self._fleet, label, change.object.record.name)
        elif kind == "FederatedCluster":
            for item in everything(self._fleet):
                if any(label in item.federated.labels for label in _POLICIES.values()):
                    yield item.key

    def reconcile(self, key: Hashable, now: float) -> float | None:
        """Compute the differences of one object."""
        item = find_for_turn(self._fleet, key, names.OVERRIDES)
        if item is None:
            return None
        federated = item.federated
        spec = self._overridden(federated)
        changed = spec != federated.spec
        notes = dict(federated.annotations)
        notes[names.PENDING] = pending.after(
            names.OVERRIDES, federated.annotations, item.type.pipeline, changed
        )
        if changed or notes != dict(federated.annotations):
            metadata = {**federated.metadata, "annotations": notes}
            fields = {**federated.fields, "metadata": metadata, "spec": spec}
            writes.update(self._fleet.host.store, federated, fields)
        return None

    def _overridden(self, federated: StoredObject) -> Fields:
        """The spec with the differences of all policies.

        An overrider that does not apply keeps the differences of the last good version.

        Raises:
            RetryError: a policy does not exist.
        """
        rules = self._rules(federated)
        template = federated.spec["template"]
        try:
            patches = {
                name: overriding.operations(rules, template, cluster)
                for name in sorted(placements.placement(federated.spec))
                if (cluster := self._fleet.cluster(name)) is not None
            }
        except InputError:
            return federated.spec
        return placements.with_overrides(federated.spec, names.OVERRIDES, patches)

    def _rules(self, federated: StoredObject) -> list[OverrideRule]:
        """The rules of the policies that the labels of an object name.

        A policy that was deleted has none.

        Raises:
            RetryError: a policy does not exist yet.
        """
        rules: list[OverrideRule] = []
        for label, cache in self._caches.items():
            name = federated.labels.get(label)
            if name is None:
                continue
            namespace = federated.record.namespace if label == names.OVERRIDE_POLICY else ""
            policy = cache.get(namespace, name)
            if policy is None and pending.pending(federated.annotations):
                hint = f"create it or change the label {label}"
                raise RetryError(f"override policy {name} does not exist: {hint}")
            if policy is not None:
                rules += policy.read(OverridePolicy).spec.override_rules
        return rules
