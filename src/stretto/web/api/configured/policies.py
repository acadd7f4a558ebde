"""Admission by ValidatingAdmissionPolicies and their bindings."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from stretto.api.wire.kinds import Kind
from stretto.web.api import failures
from stretto.web.api.cel.programs import CelError
from stretto.web.api.configured.attributes import WriteAttributes, attributes_of
from stretto.web.api.configured.expressions import WriteExpressions, unmet_condition
from stretto.web.api.configured.matching import matches_constraints
from stretto.web.api.configured.params import ParamsError, params_of
from stretto.web.api.state import AdmittedWrite, ApiState

Json = dict[str, Any]

_GROUP: Final = "admissionregistration.k8s.io"
_POLICY: Final = Kind(
    _GROUP, "v1", "ValidatingAdmissionPolicy", "validatingadmissionpolicies", namespaced=False
)
_BINDING: Final = Kind(
    _GROUP,
    "v1",
    "ValidatingAdmissionPolicyBinding",
    "validatingadmissionpolicybindings",
    namespaced=False,
)
_CODES: Final = {
    "Unauthorized": 401,
    "Forbidden": 403,
    "RequestEntityTooLarge": 413,
    "Invalid": 422,
}
_LONGEST_MESSAGE: Final = 5 << 10


class _Strength(Enum):
    """What a finding of a policy does."""

    #: What the binding states.
    AS_BOUND = "as bound"
    #: It refuses the write whatever the binding states.
    ALWAYS_DENIES = "always denies"


@dataclass(frozen=True)
class _Decision:
    """One finding of a policy about a write."""

    #: For people.
    message: str
    #: Reason of the refusal.
    reason: str = "Invalid"
    #: Whether the binding decides what happens.
    strength: _Strength = _Strength.AS_BOUND


def validate_by_policies(state: ApiState, admission: AdmittedWrite) -> None:
    """Refuse or warn of a write that does not meet the policies of the cluster."""
    bindings = state.storage.items(_BINDING)
    attributes = attributes_of(state, admission) if bindings else None
    if attributes is None:
        return
    denied: list[tuple[str, _Decision]] = []
    for policy in sorted(state.storage.items(_POLICY), key=_name):
        bound = [each for each in bindings if each["spec"].get("policyName") == _name(policy)]
        if not bound or not _matches(state, attributes, policy["spec"].get("matchConstraints")):
            continue
        for binding in sorted(bound, key=_name):
            if not _matches(state, attributes, binding["spec"].get("matchResources")):
                continue
            actions = binding["spec"].get("validationActions") or ()
            place = f"ValidatingAdmissionPolicy '{_name(policy)}' with binding '{_name(binding)}'"
            for each in _decisions(state, attributes, policy["spec"], binding["spec"]):
                if each.strength is _Strength.ALWAYS_DENIES or "Deny" in actions:
                    denied.append((place, each))
                elif "Warn" in actions:
                    text = f"Validation failed for {place}: {each.message}"
                    admission.call.warnings.append(text)
    for place, decision in denied:
        raise _refusal(attributes, f"{place} denied request: {decision.message}", decision.reason)


def _name(item: Json) -> str:
    return str(item["metadata"]["name"])


def _matches(state: ApiState, attributes: WriteAttributes, resources: Json | None) -> bool:
    return resources is None or matches_constraints(state, attributes, resources)


def _refusal(attributes: WriteAttributes, text: str, reason: str) -> failures.ApiError:
    resource = attributes.admission.resource
    error = failures.forbidden(resource.group, resource.resource, attributes.name, text)
    details = {**(error.details or {}), "causes": [{"message": text}]}
    return failures.ApiError(_CODES.get(reason, 422), reason, error.message, details)


def _decisions(
    state: ApiState, attributes: WriteAttributes, policy: Json, binding: Json
) -> Iterator[_Decision]:
    """What a policy finds with each of the parameters of a binding."""
    fails = policy.get("failurePolicy", "Fail") == "Fail"
    try:
        found = params_of(state, attributes, policy, binding)
    except ParamsError as error:
        if fails:
            yield _Decision(str(error), strength=_Strength.ALWAYS_DENIES)
        return
    for params in found:
        variables = policy.get("variables") or ()
        expressions = WriteExpressions(state, attributes, params, variables)
        unmet, problem = unmet_condition(expressions, policy.get("matchConditions") or ())
        if unmet:
            continue
        if problem:
            if fails:
                yield _Decision(problem, strength=_Strength.ALWAYS_DENIES)
            continue
        yield from _validated(expressions, policy, fails=fails)


def _validated(expressions: WriteExpressions, policy: Json, *, fails: bool) -> Iterator[_Decision]:
    for each in policy.get("validations") or ():
        try:
            if expressions.value(each["expression"]) is True:
                continue
        except CelError as error:
            if fails:
                yield _Decision(str(error))
            continue
        yield _Decision(_message(expressions, each), each.get("reason") or "Invalid")
    for each in policy.get("auditAnnotations") or ():
        try:
            expressions.value(each["valueExpression"])
        except CelError as error:
            if fails:
                yield _Decision(str(error), strength=_Strength.ALWAYS_DENIES)


def _message(expressions: WriteExpressions, validation: Json) -> str:
    """The message of a validation that does not hold."""
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
