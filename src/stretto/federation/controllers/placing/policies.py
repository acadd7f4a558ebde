"""The propagation policy of a federated object."""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from stretto.api.kinds.federation import CLUSTER_PROPAGATION_POLICY, PROPAGATION_POLICY
from stretto.api.types.federation.policies import PropagationPolicy, PropagationPolicySpec
from stretto.base.errors import InputError
from stretto.federation import names
from stretto.federation.controllers.keys import FederatedKey, everything, labelled
from stretto.federation.fleet import ClusterFleet
from stretto.federation.objects.rules import checks
from stretto.federation.objects.rules.selection import selected
from stretto.federation.objects.rules.steering import Steering, of_policy, steered
from stretto.federation.problems import ACCEPTED, ObjectCondition, unaccepted
from stretto.reconcile.cache import Change, ObjectCache, StoredObject

POLICY_LABELS: Final = {
    PROPAGATION_POLICY.kind.kind: names.POLICY,
    CLUSTER_PROPAGATION_POLICY.kind.kind: names.CLUSTER_POLICY,
}
"""Kinds of policies and the labels that name them; the first one found counts."""


class AppliedPolicy(NamedTuple):
    """The policy of an object."""

    #: Its name; empty without one.
    name: str = ""
    #: Its content; ``None`` without one.
    spec: PropagationPolicySpec | None = None
    #: Its content with the annotations of the object; ``None`` without one.
    rules: Steering | None = None
    #: What of it has no effect, each with what to do.
    oddities: tuple[str, ...] = ()

    @property
    def acceptance(self) -> ObjectCondition:
        """Whether all that the object and its policy say has an effect."""
        ignored = sorted(self.rules.problems.items()) if self.rules is not None else ()
        if ignored:
            text = "; ".join(f"annotation {key} is ignored: {why}" for key, why in ignored)
            return ObjectCondition(ACCEPTED, "InvalidAnnotation", text)
        if self.oddities:
            text = f"policy {self.name}: {'; '.join(self.oddities)}"
            return ObjectCondition(ACCEPTED, "PolicyWithoutEffect", text)
        return ObjectCondition(ACCEPTED)


class PolicyFinder:
    """Finds the policies of federated objects."""

    def __init__(self, fleet: ClusterFleet) -> None:
        """For the federated objects of a fleet."""
        self._fleet = fleet
        self._policies = {
            names.POLICY: fleet.host.follow(PROPAGATION_POLICY.kind),
            names.CLUSTER_POLICY: fleet.host.follow(CLUSTER_PROPAGATION_POLICY.kind),
        }

    def affected(self, change: Change) -> Iterable[FederatedKey]:
        """The federated objects that a change of a policy concerns."""
        label = POLICY_LABELS.get(change.kind.kind)
        if label is None:
            return
        yield from labelled(self._fleet, label, change.object.record.name)
        if any(_selects(each) for each in (change.old, change.new) if each is not None):
            namespace = change.object.record.namespace
            for item in everything(self._fleet):
                if namespace in ("", item.federated.record.namespace):
                    yield item.key

    def policy_of(self, federated: StoredObject) -> AppliedPolicy:
        """The policy that the labels of an object name, else one that selects it.

        Raises:
            ObjectProblemError: it does not exist, or contradicts itself; the object keeps its
                placement.
            InputError: it is malformed.
        """
        named = self._named(federated)
        applied = named if named is not None else self._selecting(federated)
        problems = checks.contradictions(applied.spec) if applied.spec is not None else ()
        if text := "; ".join(problems):
            raise unaccepted("InvalidPolicy", f"policy {applied.name}: {text}")
        if applied.spec is None:
            return applied
        clusters = {each.record.name for each in self._fleet.clusters}
        return applied._replace(
            rules=steered(of_policy(applied.spec), federated.annotations),
            oddities=(*applied.oddities, *checks.oddities(applied.spec, clusters)),
        )

    def _named(self, federated: StoredObject) -> AppliedPolicy | None:
        """The policy that a label names; ``None`` without a label.

        Raises:
            ObjectProblemError: it does not exist.
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
            return AppliedPolicy(name, found.read(PropagationPolicy).spec)
        return None

    def _selecting(self, federated: StoredObject) -> AppliedPolicy:
        """The policy that selects an object."""
        namespace = federated.record.namespace
        scopes = [self._policies[names.POLICY].in_namespace(namespace)] if namespace else []
        scopes.append(self._policies[names.CLUSTER_POLICY])
        for scope in scopes:
            found = selected(federated.spec["template"], _with_selectors(scope))
            if found is not None:
                name = found.policy.metadata.name
                oddities = tuple(
                    f"policies {name} and {other} select it with equal priority and {name} applies:"
                    " give one of them a higher priority"
                    for other in found.equals
                )
                return AppliedPolicy(name, found.policy.spec, oddities=oddities)
        return AppliedPolicy()


def _selects(policy: StoredObject) -> bool:
    """Whether a policy applies to objects without a label."""
    return bool(policy.spec.get("resourceSelectors"))


def _with_selectors(policies: ObjectCache | Iterable[StoredObject]) -> Iterator[PropagationPolicy]:
    """The readable policies that select objects; a malformed one concerns no other object."""
    for each in policies:
        if _selects(each):
            try:
                yield each.read(PropagationPolicy)
            except InputError:
                continue
