"""Computes the differences between clusters from override policies."""

from collections.abc import Hashable, Iterable
from typing import Final

from stretto.api.kinds.federation import CLUSTER_OVERRIDE_POLICY, OVERRIDE_POLICY
from stretto.api.types.federation import OverridePolicy, OverrideRule
from stretto.base.errors import InputError
from stretto.federation import names, writes
from stretto.federation.controllers.sync import FEDERATED, FederatedKey
from stretto.federation.fleet import HOST, Fleet
from stretto.federation.objects import overriding, pending, placements
from stretto.federation.types import FederatedType
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

    def __init__(self, fleet: Fleet) -> None:
        """For the federated objects of a fleet."""
        self._fleet = fleet
        self._caches = {
            names.CLUSTER_OVERRIDE_POLICY: fleet.host.follow(CLUSTER_OVERRIDE_POLICY.kind),
            names.OVERRIDE_POLICY: fleet.host.follow(OVERRIDE_POLICY.kind),
        }

    def affected(self, change: Change) -> Iterable[Hashable]:
        """The federated object, those of a policy, or all after a change of a cluster."""
        if change.source != HOST:
            return
        kind = change.kind.kind
        if kind in FEDERATED:
            if type_ := self._fleet.type_of(change.object):
                yield FederatedKey(type_.name, *change.object.name)
        elif label := _POLICIES.get(kind):
            for type_, each in self._all():
                if each.labels.get(label) == change.object.record.name:
                    yield FederatedKey(type_.name, *each.name)
        elif kind == "FederatedCluster":
            for type_, each in self._all():
                if any(label in each.labels for label in _POLICIES.values()):
                    yield FederatedKey(type_.name, *each.name)

    def _all(self) -> Iterable[tuple[FederatedType, StoredObject]]:
        for type_ in self._fleet.types:
            for each in self._fleet.host.follow_synced(type_.federated_kind):
                if self._fleet.type_of(each) is type_:
                    yield type_, each

    def reconcile(self, key: Hashable, now: float) -> float | None:
        """Compute the differences of one object."""
        assert isinstance(key, FederatedKey)
        type_ = self._fleet.types.named(key.type)
        if type_ is None or not any(names.OVERRIDES in group for group in type_.pipeline):
            return None
        federated = self._fleet.federated(type_.federated_kind, key.namespace, key.name)
        if federated is None or federated.is_terminating:
            return None
        if not pending.has_turn(names.OVERRIDES, federated.annotations):
            return None
        spec = self._overridden(federated)
        changed = spec != federated.spec
        notes = dict(federated.annotations)
        notes[names.PENDING] = pending.after(
            names.OVERRIDES, federated.annotations, type_.pipeline, changed
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

        Raises:
            RetryError: a policy does not exist.
        """
        rules: list[OverrideRule] = []
        for label, cache in self._caches.items():
            name = federated.labels.get(label)
            if name is None:
                continue
            namespace = federated.record.namespace if label == names.OVERRIDE_POLICY else ""
            policy = cache.get(namespace, name)
            if policy is None:
                raise RetryError(
                    f"override policy {name} does not exist: create it or change the label {label}"
                )
            rules += policy.read(OverridePolicy).spec.override_rules
        return rules
