"""Policies with their bindings: those that apply to a write, and their conditions."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from stretto.api.wire.kinds import Kind
from stretto.web.api.configured.attributes import WriteAttributes
from stretto.web.api.configured.expressions import WriteExpressions, unmet_condition
from stretto.web.api.configured.matching import constrained_kind
from stretto.web.api.state import ApiState

Json = dict[str, Any]

_GROUP: Final = "admissionregistration.k8s.io"


@dataclass(frozen=True)
class PolicyKinds:
    """The kinds of policies for one purpose."""

    #: Kind of the policies.
    policy: Kind
    #: Kind of their bindings.
    binding: Kind


def _kinds(word: str) -> PolicyKinds:
    name, plural = f"{word}AdmissionPolicy", f"{word.lower()}admissionpolicies"
    bindings = f"{word.lower()}admissionpolicybindings"
    return PolicyKinds(
        Kind(_GROUP, "v1", name, plural, namespaced=False),
        Kind(_GROUP, "v1", f"{name}Binding", bindings, namespaced=False),
    )


VALIDATING: Final = _kinds("Validating")
"""Policies that only validate."""
MUTATING: Final = _kinds("Mutating")
"""Policies that mutate objects."""


@dataclass(frozen=True)
class BoundPolicy:
    """A policy with one of its bindings."""

    #: The policy.
    policy: Json
    #: The binding.
    binding: Json
    #: The resource for which the policy matches the write.
    kind: Kind

    @property
    def spec(self) -> Json:
        """The ``spec`` of the policy."""
        found: Json = self.policy["spec"]
        return found

    @property
    def names(self) -> tuple[str, str]:
        """Names of the policy and of the binding."""
        return _name(self.policy), _name(self.binding)

    @property
    def fails_closed(self) -> bool:
        """Return whether a write is refused if the policy cannot be evaluated."""
        return bool(self.spec.get("failurePolicy", "Fail") == "Fail")


def has_bindings(state: ApiState, kinds: PolicyKinds) -> bool:
    """Return whether any policy is bound, so that writes need policies."""
    return bool(state.storage.views_of(kinds.binding))


def bound_policies(
    state: ApiState, attributes: WriteAttributes, kinds: PolicyKinds
) -> Iterator[BoundPolicy]:
    """Yield the policies that apply to a write, with each binding that selects it, by name."""
    bindings = sorted(state.storage.views_of(kinds.binding), key=_name)
    for policy in sorted(state.storage.views_of(kinds.policy), key=_name) if bindings else ():
        bound = [each for each in bindings if each["spec"].get("policyName") == _name(policy)]
        constraints = policy["spec"].get("matchConstraints")
        kind = _matched(state, attributes, constraints) if bound else None
        if kind is None:
            continue
        for each in bound:
            if _matched(state, attributes, each["spec"].get("matchResources")) is not None:
                yield BoundPolicy(policy, each, kind)


def met_expressions(
    state: ApiState, attributes: WriteAttributes, bound: BoundPolicy, params: Json | None
) -> tuple[WriteExpressions | None, str]:
    """Return the expressions of a policy about a write; ``None`` if a condition excludes the write.

    The text contains the error of a condition that cannot be evaluated; it is empty otherwise.
    """
    expressions = policy_expressions(state, attributes, bound, params)
    conditions = bound.spec.get("matchConditions") or ()
    unmet, problem = unmet_condition(expressions, conditions)
    return (None, "") if unmet else (expressions, problem)


def policy_expressions(
    state: ApiState, attributes: WriteAttributes, bound: BoundPolicy, params: Json | None
) -> WriteExpressions:
    """Return the expressions of a policy about a write."""
    variables = bound.spec.get("variables") or ()
    return WriteExpressions(state, attributes, params, variables, bound.kind)


def _matched(state: ApiState, attributes: WriteAttributes, resources: Json | None) -> Kind | None:
    served = attributes.admission.resource.kind
    return served if resources is None else constrained_kind(state, attributes, resources)


def _name(item: Json) -> str:
    return str(item["metadata"]["name"])
