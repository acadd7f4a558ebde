"""Policies as objects apply them: decoded once and checked for settings without an effect."""

from typing import NamedTuple

from stretto.api.types.federation.policies import PropagationPolicy, PropagationPolicySpec
from stretto.federation.fleet import ClusterFleet
from stretto.federation.objects.rules import checks
from stretto.federation.objects.rules.steering import Steering, of_policy
from stretto.federation.objects.rules.triggers import content_of
from stretto.federation.problems import ACCEPTED, ObjectCondition
from stretto.reconcile.cache import Name, StoredObject


class AppliedPolicy(NamedTuple):
    """The policy of an object."""

    #: Name of the policy; empty if there is none.
    name: str = ""
    #: Its content; ``None`` if there is none.
    spec: PropagationPolicySpec | None = None
    #: Digest of its content, which shows changes; empty without a policy.
    content: str = ""
    #: Its rules with the annotations of the object applied; ``None`` if there is none.
    rules: Steering | None = None
    #: Settings of the policy without an effect, each with a remedy.
    oddities: tuple[str, ...] = ()
    #: Labels and annotations of the object without an effect, each with a remedy.
    own_oddities: tuple[str, ...] = ()

    @property
    def acceptance(self) -> ObjectCondition:
        """The condition ``Accepted``; annotations and settings without an effect are problems."""
        problems = sorted(self.rules.problems.items()) if self.rules is not None else ()
        ignored = [
            f"annotation {key} is ignored: {why.removeprefix(f'{key}: ')}" for key, why in problems
        ]
        odd = [f"policy {self.name}: {'; '.join(self.oddities)}"] if self.oddities else []
        reason = "InvalidAnnotation" if ignored else "PolicyWithoutEffect" if odd else ""
        if not reason and self.own_oddities:
            reason = "AnnotationWithoutEffect"
        return ObjectCondition(ACCEPTED, reason, "; ".join([*ignored, *self.own_oddities, *odd]))


class PolicyContent(NamedTuple):
    """A decoded policy."""

    #: The stored policy object.
    object: StoredObject
    #: The decoded policy.
    policy: PropagationPolicy
    #: Its rules, without the annotations of any object.
    rules: Steering
    #: Reasons why the policy cannot be used; empty if it can.
    problems: str
    #: Digest of its content.
    digest: str


class PolicyContents:
    """Decodes policies and caches them."""

    def __init__(self, fleet: ClusterFleet) -> None:
        """Initialize for the policies of a fleet."""
        self._fleet = fleet
        self._contents: dict[tuple[str, Name], PolicyContent] = {}
        self._oddities: dict[tuple[str, Name], tuple[object, object, tuple[str, ...]]] = {}

    def forget(self, policy: StoredObject) -> None:
        """Drop a deleted policy from the cache."""
        key = policy.record.kind.kind, policy.name
        self._contents.pop(key, None)
        self._oddities.pop(key, None)

    def content(self, policy: StoredObject) -> PolicyContent:
        """The decoded policy.

        Raises:
            InputError: the policy is malformed.
        """
        key = policy.record.kind.kind, policy.name
        known = self._contents.get(key)
        if known is None or known.object is not policy:
            read = policy.read(PropagationPolicy)
            orders = self._fleet.settings.plans_by_default
            problems = "; ".join(checks.contradictions(read.spec, orders_bounds=orders))
            known = PolicyContent(
                policy, read, of_policy(read.spec), problems, content_of(read.spec)
            )
            self._contents[key] = known
        return known

    def oddities(self, content: PolicyContent) -> tuple[str, ...]:
        """Settings of a policy that have no effect in the present fleet."""
        clusters, key = self._fleet.clusters, (content.object.record.kind.kind, content.object.name)
        known = self._oddities.get(key)
        if known is None or known[0] is not content or known[1] is not clusters:
            present = {each.record.name: each.labels for each in clusters}
            found = tuple(checks.oddities(content.policy.spec, present))
            known = self._oddities[key] = content, clusters, found
        return known[2]
