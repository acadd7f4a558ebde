"""The propagation policy of a federated object."""

from collections.abc import Hashable, Iterable, Iterator
from typing import Final

from stretto.api.kinds.federation import CLUSTER_PROPAGATION_POLICY, PROPAGATION_POLICY
from stretto.base.errors import InputError
from stretto.federation import names
from stretto.federation.controllers.keys import labelled, sweep
from stretto.federation.controllers.placing.applied import (
    AppliedPolicy,
    PolicyContent,
    PolicyContents,
)
from stretto.federation.fleet import ClusterFleet
from stretto.federation.objects.rules import annotations, checks
from stretto.federation.objects.rules.selection import selected
from stretto.federation.objects.rules.steering import Steering, steered
from stretto.federation.problems import unaccepted
from stretto.reconcile.cache import Change, ObjectCache, StoredObject

POLICY_LABELS: Final = {
    PROPAGATION_POLICY.kind.kind: names.POLICY,
    CLUSTER_PROPAGATION_POLICY.kind.kind: names.CLUSTER_POLICY,
}
"""Kinds of policies and the labels that name them; the first label found applies."""


class PolicyFinder:
    """Finds the policies of federated objects; each object has one."""

    def __init__(self, fleet: ClusterFleet) -> None:
        """Initialize for the federated objects of a fleet."""
        self._fleet = fleet
        self._policies = {
            names.POLICY: fleet.host.follow(PROPAGATION_POLICY.kind),
            names.CLUSTER_POLICY: fleet.host.follow(CLUSTER_PROPAGATION_POLICY.kind),
        }
        self._contents = PolicyContents(fleet)

    def affected(self, change: Change) -> Iterable[Hashable]:
        """The federated objects that a change of a policy concerns."""
        label = POLICY_LABELS.get(change.kind.kind)
        if label is None:
            return
        if change.new is None:
            self._contents.forget(change.object)
        yield from labelled(self._fleet, label, change.object.record.name)
        if any(_selects(each) for each in (change.old, change.new) if each is not None):
            yield sweep(self._fleet, change.object.record.namespace)

    def policy_of(self, federated: StoredObject) -> AppliedPolicy:
        """The policy that the labels of an object name, or else one that selects the object.

        Raises:
            ObjectProblemError: the policy is missing or contradictory; the object keeps its
                placement.
            InputError: the policy is malformed.
        """
        equals: tuple[str, ...] = ()
        content = self._named(federated)
        if content is None:
            content, equals = self._selecting(federated)
        if content is None:
            return AppliedPolicy(
                own_oddities=tuple(annotations.misplaced(federated.spec["template"]))
            )
        name, labels = content.object.record.name, federated.labels
        if names.POLICY in labels and (other := labels.get(names.CLUSTER_POLICY)):
            text = f"cluster policy {other}, which a label names too, does not apply"
            equals = (f"{text}: remove the label {names.CLUSTER_POLICY} or {names.POLICY}",)
        if content.problems:
            raise unaccepted("InvalidPolicy", f"policy {name}: {content.problems}")
        rules = steered(content.rules, federated.annotations)
        oddities = (*equals, *self._contents.oddities(content), *self._unmet(federated, rules))
        own = self._own_oddities(federated, rules)
        return AppliedPolicy(name, content.policy.spec, content.digest, rules, oddities, own)

    def _own_oddities(self, federated: StoredObject, rules: Steering) -> tuple[str, ...]:
        """Labels and annotations of an object that have no effect."""
        notes = annotations.oddities(federated, rules, self._fleet.clusters)
        return (*notes, *annotations.misplaced(federated.spec["template"]))

    def _unmet(self, federated: StoredObject, rules: Steering) -> Iterator[str]:
        """Minimums of a policy that the replicas of an object do not reach."""
        type_ = self._fleet.type_of(federated) if rules.divides and rules.placements else None
        if type_ is not None:
            yield from checks.unmet_minimums(rules.placements, federated.spec["template"], type_)

    def _named(self, federated: StoredObject) -> PolicyContent | None:
        """The policy that a label names; ``None`` without a label.

        Raises:
            ObjectProblemError: the policy does not exist.
        """
        for label, cache in self._policies.items():
            namespace = federated.record.namespace if label == names.POLICY else ""
            name = federated.labels.get(label)
            if name is None or (label == names.POLICY and not namespace):
                continue
            found = cache.get(namespace, name)
            if found is None:
                hint = f"create it or change the label {label}"
                raise unaccepted("PolicyMissing", f"policy {name} does not exist: {hint}")
            return self._contents.content(found)
        return None

    def _selecting(self, federated: StoredObject) -> tuple[PolicyContent | None, tuple[str, ...]]:
        """The policy that selects an object, and messages about ambiguous selections."""
        namespace = federated.record.namespace
        scopes = [self._policies[names.POLICY].in_namespace(namespace)] if namespace else []
        scopes.append(self._policies[names.CLUSTER_POLICY])
        for scope in scopes:
            contents = list(self._with_selectors(scope))
            found = selected(federated.spec["template"], (each.policy for each in contents))
            if found is not None:
                name = found.policy.metadata.name
                content = next(each for each in contents if each.policy is found.policy)
                return content, tuple(
                    f"policies {name} and {other} select it with equal priority and {name} applies:"
                    " give one of them a higher priority"
                    for other in found.equals
                )
        return None, ()

    def _with_selectors(
        self, policies: ObjectCache | Iterable[StoredObject]
    ) -> Iterator[PolicyContent]:
        """Readable policies with resource selectors; a malformed policy affects no other object."""
        for each in policies:
            if _selects(each):
                try:
                    yield self._contents.content(each)
                except InputError:
                    continue


def _selects(policy: StoredObject) -> bool:
    """True if a policy applies to objects without a label."""
    return bool(policy.spec.get("resourceSelectors"))
