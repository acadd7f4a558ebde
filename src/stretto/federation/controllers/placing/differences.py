"""The differences between clusters that override policies make of one object."""

from collections.abc import Iterable
from typing import Final

from stretto.api.kinds.federation import CLUSTER_OVERRIDE_POLICY, OVERRIDE_POLICY
from stretto.api.types.federation.policies import OverridePolicy, OverrideRule
from stretto.base.errors import InputError
from stretto.federation import names
from stretto.federation.controllers.keys import FederatedItem
from stretto.federation.fleet import ClusterFleet
from stretto.federation.objects import pending, placements
from stretto.federation.objects.members.wanted import check, desired
from stretto.federation.objects.overriding import operations
from stretto.federation.problems import OVERRIDDEN, ObjectCondition, ObjectProblemError
from stretto.reconcile.cache import Fields, StoredObject

OVERRIDE_LABELS: Final = {
    CLUSTER_OVERRIDE_POLICY.kind.kind: names.CLUSTER_OVERRIDE_POLICY,
    OVERRIDE_POLICY.kind.kind: names.OVERRIDE_POLICY,
}
"""Kinds of policies and the labels that name them, in the order in which they apply."""


class DifferenceFinder:
    """Finds the differences of federated objects."""

    def __init__(self, fleet: ClusterFleet) -> None:
        """For the federated objects of a fleet."""
        self._fleet = fleet
        self._caches = {
            names.CLUSTER_OVERRIDE_POLICY: fleet.host.follow(CLUSTER_OVERRIDE_POLICY.kind),
            names.OVERRIDE_POLICY: fleet.host.follow(OVERRIDE_POLICY.kind),
        }

    def overridden(self, item: FederatedItem) -> tuple[Fields, ObjectCondition]:
        """The spec with the differences of all policies, and whether they apply.

        An overrider that does not apply keeps the differences of the last good version.

        Raises:
            ObjectProblemError: a policy does not exist.
        """
        federated = item.federated
        try:
            rules = self._rules(federated)
        except InputError as error:
            return federated.spec, _kept(error)
        template = federated.spec["template"]
        placed = sorted(placements.placement(federated.spec))
        try:
            patches = {
                name: operations.operations(rules, template, cluster)
                for name in placed
                if (cluster := self._fleet.cluster(name)) is not None
            }
        except InputError as error:
            return federated.spec, _kept(error)
        spec = placements.with_overrides(federated.spec, names.OVERRIDES, patches)
        condition = _condition(item, spec, [name for name in placed if patches.get(name)])
        if not condition.reason:
            known = {each.record.name for each in self._fleet.clusters}
            idle = "; ".join(operations.without_effect(rules, template, known))
            condition = ObjectCondition(OVERRIDDEN, "WithoutEffect" if idle else "", idle)
        return spec, condition

    def _rules(self, federated: StoredObject) -> list[OverrideRule]:
        """The rules of the policies that the labels of an object name.

        A policy that was deleted has none.

        Raises:
            ObjectProblemError: a policy does not exist yet.
            InputError: a policy is malformed.
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
                text = f"override policy {name} does not exist: {hint}"
                raise ObjectProblemError(ObjectCondition(OVERRIDDEN, "PolicyMissing", text))
            if policy is not None:
                rules += policy.read(OverridePolicy).spec.override_rules
        return rules


def _kept(error: InputError) -> ObjectCondition:
    """An override policy that cannot be used."""
    text = f"{error}; the last differences stay: correct the override policy"
    return ObjectCondition(OVERRIDDEN, "InvalidOverride", text)


def _condition(item: FederatedItem, spec: Fields, clusters: Iterable[str]) -> ObjectCondition:
    """Whether the object is well-formed in some clusters."""
    broken = []
    for name in clusters:
        try:
            patches = placements.patches_for(spec, name, item.type)
            check(item.type.kind, desired(spec["template"], patches))
        except InputError as error:
            broken.append(f"{name}: {error}")
    if not broken:
        return ObjectCondition(OVERRIDDEN)
    text = f"{'; '.join(broken)}: correct the override policy; other clusters continue"
    return ObjectCondition(OVERRIDDEN, "BreaksObject", text)
