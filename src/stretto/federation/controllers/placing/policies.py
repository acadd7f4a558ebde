"""The propagation policy of a federated object."""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from stretto.api.kinds.federation import CLUSTER_PROPAGATION_POLICY, PROPAGATION_POLICY
from stretto.api.types.federation.policies import PropagationPolicy, PropagationPolicySpec
from stretto.base.errors import InputError
from stretto.federation import names
from stretto.federation.controllers.keys import FederatedKey, everything, labelled
from stretto.federation.fleet import ClusterFleet
from stretto.federation.objects.rules import annotations, checks
from stretto.federation.objects.rules.annotations import misplaced
from stretto.federation.objects.rules.selection import selected
from stretto.federation.objects.rules.steering import Steering, of_policy, steered
from stretto.federation.objects.rules.triggers import content_of
from stretto.federation.problems import ACCEPTED, ObjectCondition, unaccepted
from stretto.reconcile.cache import Change, Name, ObjectCache, StoredObject

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
    #: Digest of its content by which changes are recognized; empty without one.
    content: str = ""
    #: Its content with the annotations of the object; ``None`` without one.
    rules: Steering | None = None
    #: What of it has no effect, each with what to do.
    oddities: tuple[str, ...] = ()
    #: What labels and annotations of the object say without an effect, each with what to do.
    own_oddities: tuple[str, ...] = ()

    @property
    def acceptance(self) -> ObjectCondition:
        """Whether all that the object and its policy say has an effect."""
        problems = sorted(self.rules.problems.items()) if self.rules is not None else ()
        ignored = [
            f"annotation {key} is ignored: {why.removeprefix(f'{key}: ')}" for key, why in problems
        ]
        odd = [f"policy {self.name}: {'; '.join(self.oddities)}"] if self.oddities else []
        reason = "InvalidAnnotation" if ignored else "PolicyWithoutEffect" if odd else ""
        if not reason and self.own_oddities:
            reason = "AnnotationWithoutEffect"
        return ObjectCondition(ACCEPTED, reason, "; ".join([*ignored, *self.own_oddities, *odd]))


class _PolicyContent(NamedTuple):
    """A decoded policy."""

    #: The object of which it was read.
    object: StoredObject
    #: The policy.
    policy: PropagationPolicy
    #: Its rules, without the annotations of any object.
    rules: Steering
    #: Why it cannot be used; empty if it can.
    problems: str
    #: Digest of its content.
    digest: str


class PolicyFinder:
    """Finds the policies of federated objects; each is decoded once."""

    def __init__(self, fleet: ClusterFleet) -> None:
        """For the federated objects of a fleet."""
        self._fleet = fleet
        self._policies = {
            names.POLICY: fleet.host.follow(PROPAGATION_POLICY.kind),
            names.CLUSTER_POLICY: fleet.host.follow(CLUSTER_PROPAGATION_POLICY.kind),
        }
        self._contents: dict[tuple[str, Name], _PolicyContent] = {}
        self._oddities: dict[tuple[str, Name], tuple[object, object, tuple[str, ...]]] = {}

    def affected(self, change: Change) -> Iterable[FederatedKey]:
        """The federated objects that a change of a policy concerns."""
        label = POLICY_LABELS.get(change.kind.kind)
        if label is None:
            return
        if change.new is None:
            self._contents.pop((change.kind.kind, change.object.name), None)
            self._oddities.pop((change.kind.kind, change.object.name), None)
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
        equals: tuple[str, ...] = ()
        content = self._named(federated)
        if content is None:
            content, equals = self._selecting(federated)
        if content is None:
            return AppliedPolicy(own_oddities=tuple(misplaced(federated.spec["template"])))
        name, labels = content.object.record.name, federated.labels
        if names.POLICY in labels and (other := labels.get(names.CLUSTER_POLICY)):
            text = f"cluster policy {other}, which a label names too, does not apply"
            equals = (f"{text}: remove the label {names.CLUSTER_POLICY} or {names.POLICY}",)
        if content.problems:
            raise unaccepted("InvalidPolicy", f"policy {name}: {content.problems}")
        rules = steered(content.rules, federated.annotations)
        oddities = (*equals, *self._oddities_of(content), *self._unmet(federated, rules))
        own = self._own_oddities(federated, rules)
        return AppliedPolicy(name, content.policy.spec, content.digest, rules, oddities, own)

    def _own_oddities(self, federated: StoredObject, rules: Steering) -> tuple[str, ...]:
        """What labels and annotations of an object say without an effect."""
        notes = annotations.oddities(federated, rules, self._fleet.clusters)
        return (*notes, *misplaced(federated.spec["template"]))

    def _unmet(self, federated: StoredObject, rules: Steering) -> Iterator[str]:
        """Minimums that the replicas of an object do not reach."""
        type_ = self._fleet.type_of(federated) if rules.divides and rules.placements else None
        if type_ is not None:
            yield from checks.unmet_minimums(rules.placements, federated.spec["template"], type_)

    def _named(self, federated: StoredObject) -> _PolicyContent | None:
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
            return self._content(found)
        return None

    def _selecting(self, federated: StoredObject) -> tuple[_PolicyContent | None, tuple[str, ...]]:
        """The policy that selects an object, and what is odd about that."""
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
    ) -> Iterator[_PolicyContent]:
        """The readable policies that select objects; a malformed one concerns no other object."""
        for each in policies:
            if _selects(each):
                try:
                    yield self._content(each)
                except InputError:
                    continue

    def _content(self, policy: StoredObject) -> _PolicyContent:
        """A decoded policy.

        Raises:
            InputError: it is malformed.
        """
        key = policy.record.kind.kind, policy.name
        known = self._contents.get(key)
        if known is None or known.object is not policy:
            read = policy.read(PropagationPolicy)
            orders = self._fleet.settings.plans_by_default
            problems = "; ".join(checks.contradictions(read.spec, orders_bounds=orders))
            known = _PolicyContent(
                policy, read, of_policy(read.spec), problems, content_of(read.spec)
            )
            self._contents[key] = known
        return known

    def _oddities_of(self, content: _PolicyContent) -> tuple[str, ...]:
        """What of a policy has no effect in the fleet as it is."""
        clusters, key = self._fleet.clusters, (content.object.record.kind.kind, content.object.name)
        known = self._oddities.get(key)
        if known is None or known[0] is not content or known[1] is not clusters:
            present = {each.record.name: each.labels for each in clusters}
            found = tuple(checks.oddities(content.policy.spec, present))
            known = self._oddities[key] = content, clusters, found
        return known[2]


def _selects(policy: StoredObject) -> bool:
    """Whether a policy applies to objects without a label."""
    return bool(policy.spec.get("resourceSelectors"))
