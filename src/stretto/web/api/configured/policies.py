"""Admission by ValidatingAdmissionPolicies and their bindings."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from stretto.cel.programs import CelError
from stretto.web.api import failures
from stretto.web.api.configured.annotations import PolicyAnnotations, validation_failed
from stretto.web.api.configured.attributes import WriteAttributes, attributes_of
from stretto.web.api.configured.bound import (
    VALIDATING,
    BoundPolicy,
    bound_policies,
    has_bindings,
    met_expressions,
)
from stretto.web.api.configured.expressions import WriteExpressions
from stretto.web.api.configured.params import ParamsError, params_of
from stretto.web.api.state import AdmittedWrite, ApiState

Json = dict[str, Any]

_CODES: Final = {
    "Unauthorized": 401,
    "Forbidden": 403,
    "RequestEntityTooLarge": 413,
    "Invalid": 422,
}
_LONGEST_MESSAGE: Final = 5 << 10


class _Strength(Enum):
    """Effect of a finding of a policy."""

    #: The actions of the binding apply.
    AS_BOUND = "as bound"
    #: The write is refused, independent of the binding.
    ALWAYS_DENIES = "always denies"


@dataclass(frozen=True)
class _Decision:
    """One finding of a policy about a write."""

    #: Message for users.
    message: str
    #: Reason of the refusal.
    reason: str = "Invalid"
    #: Effect of the finding.
    strength: _Strength = _Strength.AS_BOUND
    #: Number of the validation in the policy.
    index: int = 0


def validate_by_policies(state: ApiState, admission: AdmittedWrite) -> None:
    """Refuse a write, or warn about it, if it violates the policies of the cluster."""
    if not has_bindings(state, VALIDATING):
        return
    attributes = attributes_of(state, admission)
    if attributes is None:
        return
    denied: list[tuple[str, _Decision]] = []
    notes, annotations = admission.call.request.notes, PolicyAnnotations()
    for bound in bound_policies(state, attributes, VALIDATING):
        actions = bound.binding["spec"].get("validationActions") or ()
        policy, binding = bound.names
        place = f"ValidatingAdmissionPolicy '{policy}' with binding '{binding}'"
        for each in _decisions(state, attributes, bound, annotations):
            if each.strength is _Strength.ALWAYS_DENIES:
                denied.append((place, each))
                continue
            if "Deny" in actions:
                denied.append((place, each))
            if "Audit" in actions:
                validation_failed(notes, bound.binding, each.index, each.message)
            if "Warn" in actions:
                text = f"Validation failed for {place}: {each.message}"
                admission.call.warnings.append(text)
    annotations.publish(notes)
    for place, decision in denied:
        raise _refusal(attributes, f"{place} denied request: {decision.message}", decision.reason)


def _refusal(attributes: WriteAttributes, text: str, reason: str) -> failures.ApiError:
    resource = attributes.admission.resource
    error = failures.forbidden(resource.group, resource.resource, attributes.name, text)
    details = {**(error.details or {}), "causes": [{"message": text}]}
    return failures.ApiError(_CODES.get(reason, 422), reason, error.message, details)


def _decisions(
    state: ApiState,
    attributes: WriteAttributes,
    bound: BoundPolicy,
    annotations: PolicyAnnotations,
) -> Iterator[_Decision]:
    """Yield the findings of a policy with each of the parameters of a binding."""
    fails = bound.fails_closed
    try:
        found = params_of(state, attributes, bound.spec, bound.binding["spec"])
    except ParamsError as error:
        if fails:
            yield _Decision(str(error), strength=_Strength.ALWAYS_DENIES)
        return
    for params in found:
        expressions, problem = met_expressions(state, attributes, bound, params)
        if problem and fails:
            yield _Decision(problem, strength=_Strength.ALWAYS_DENIES)
        elif expressions is not None and not problem:
            yield from _validated(expressions, bound.spec, fails=fails)
            yield from _annotated(expressions, bound, annotations)


def _validated(expressions: WriteExpressions, policy: Json, *, fails: bool) -> Iterator[_Decision]:
    """Yield the validations that fail."""
    for index, each in enumerate(policy.get("validations") or ()):
        try:
            if expressions.value(each["expression"]) is True:
                continue
        except CelError as error:
            if fails:
                yield _Decision(str(error), index=index)
            continue
        reason = each.get("reason") or "Invalid"
        yield _Decision(_message(expressions, each), reason, index=index)


def _annotated(
    expressions: WriteExpressions, bound: BoundPolicy, annotations: PolicyAnnotations
) -> Iterator[_Decision]:
    """Evaluate the annotations of a policy; an error is a finding if the policy fails closed."""
    for each in bound.spec.get("auditAnnotations") or ():
        try:
            value = expressions.value(each["valueExpression"])
            annotations.add(bound.names[0], each["key"], value)
        except CelError as error:
            if bound.fails_closed:
                yield _Decision(str(error), strength=_Strength.ALWAYS_DENIES)


def _message(expressions: WriteExpressions, validation: Json) -> str:
    """Return the message of a failed validation."""
    text = validation.get("messageExpression")
    if text:
        try:
            found = expressions.value(text)
        except CelError:
            found = None
        if isinstance(found, str):
            plain = found.strip()
            if plain and "\n" not in plain and len(plain) <= _LONGEST_MESSAGE:
                return plain
    if validation.get("message"):
        return str(validation["message"]).strip()
    return f"failed expression: {validation['expression'].strip()}"
