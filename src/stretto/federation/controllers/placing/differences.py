"""Overrides of each cluster that override policies define for one object."""

from collections.abc import Iterator
from typing import Final

from stretto.api.kinds.federation import CLUSTER_OVERRIDE_POLICY, OVERRIDE_POLICY
from stretto.base.errors import InputError
from stretto.federation import names
from stretto.federation.controllers.keys import FederatedItem
from stretto.federation.controllers.placing.overridden import OverrideResult
from stretto.federation.fleet import ClusterFleet
from stretto.federation.objects import pending, placements
from stretto.federation.objects.overriding import oddities, operations
from stretto.federation.problems import OVERRIDDEN, ObjectCondition, ObjectProblemError
from stretto.reconcile.cache import Fields, StoredObject

OVERRIDE_LABELS: Final = {
    CLUSTER_OVERRIDE_POLICY.kind.kind: names.CLUSTER_OVERRIDE_POLICY,
    OVERRIDE_POLICY.kind.kind: names.OVERRIDE_POLICY,
}
"""Kinds of policies and the labels that name them, in the order in which they apply."""


class DifferenceFinder:
    """Computes the overrides of federated objects."""

    def __init__(self, fleet: ClusterFleet) -> None:
        """Initialize for the federated objects of a fleet."""
        self._fleet = fleet
        self._caches = {
            names.CLUSTER_OVERRIDE_POLICY: fleet.host.follow(CLUSTER_OVERRIDE_POLICY.kind),
            names.OVERRIDE_POLICY: fleet.host.follow(OVERRIDE_POLICY.kind),
        }

    def overridden(self, item: FederatedItem) -> tuple[Fields, ObjectCondition]:
        """The spec with the overrides of all policies, and the condition that reports problems.

        If an overrider cannot be applied, the overrides of the last good version are kept. An
        object that has never been sent to members waits; KubeAdmiral holds every changed object.

        Raises:
            ObjectProblemError: a policy does not exist, or the object waits for its correction.
        """
        federated = item.federated
        try:
            rules = self._rules(federated)
        except InputError as error:
            return federated.spec, self._kept(federated, error)
        template = federated.spec["template"]
        placed = sorted(placements.placement(federated.spec))
        try:
            patches = {
                name: operations.operations(rules.values(), template, cluster)
                for name in placed
                if (cluster := self._fleet.cluster(name)) is not None
            }
        except InputError as error:
            return federated.spec, self._kept(federated, error)
        spec = placements.with_overrides(federated.spec, names.OVERRIDES, patches)
        result = OverrideResult(item, spec, [name for name in placed if patches.get(name)])
        if result.broken:
            return spec, result.condition
        idle = [
            *self._without_rules(federated),
            *oddities.without_effect(rules, template, self._fleet.clusters),
            *result.unknown,
        ]
        reason = "WithoutEffect" if idle else ""
        return spec, ObjectCondition(OVERRIDDEN, reason, "; ".join(idle))

    def _kept(self, federated: StoredObject, error: InputError) -> ObjectCondition:
        """The condition for an override policy that cannot be used.

        Raises:
            ObjectProblemError: the object waits for the correction of the policy.
        """
        is_new = "syncedGeneration" not in federated.status
        holds = is_new or not self._fleet.settings.plans_by_default
        waits = holds and bool(pending.pending(federated.annotations))
        kept = "the object waits" if waits else "the last overrides are kept"
        text = f"{error}; {kept}: correct the override policy"
        found = ObjectCondition(OVERRIDDEN, "InvalidOverride", text)
        if waits:
            raise ObjectProblemError(found)
        return found

    def _named(self, federated: StoredObject) -> Iterator[tuple[str, str, StoredObject | None]]:
        """Label, name and policy of each label of an object that names an override policy."""
        for label, cache in self._caches.items():
            if (name := federated.labels.get(label)) is not None:
                namespace = federated.record.namespace if label == names.OVERRIDE_POLICY else ""
                yield label, name, cache.get(namespace, name)

    def _without_rules(self, federated: StoredObject) -> Iterator[str]:
        """Messages about readable policies without override rules."""
        for label, name, policy in self._named(federated):
            if policy is not None and not policy.spec.get("overrideRules"):
                kind = policy.record.kind.kind
                yield f"{kind} {name} has no overrideRules: add one, or remove the label {label}"

    def _rules(self, federated: StoredObject) -> oddities.PlacedRules:
        """The rules of the policies that the labels of an object name, by their place.

        A deleted policy has no rules.

        Raises:
            ObjectProblemError: a policy does not exist yet.
            InputError: a policy is malformed.
        """
        rules: oddities.PlacedRules = {}
        for label, name, policy in self._named(federated):
            if policy is None and pending.pending(federated.annotations):
                hint = f"create it or change the label {label}"
                text = f"override policy {name} does not exist: {hint}"
                raise ObjectProblemError(ObjectCondition(OVERRIDDEN, "PolicyMissing", text))
            if policy is not None:
                rules |= oddities.placed_rules(policy)
        return rules
