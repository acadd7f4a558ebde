"""Admission by MutatingAdmissionPolicies and their bindings: expressions that change objects."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from stretto.api.schema.kubernetes import struct_of_kind
from stretto.api.schema.types import StructType
from stretto.web.api.configured.attributes import WriteAttributes, attributes_of
from stretto.web.api.configured.bound import (
    MUTATING,
    BoundPolicy,
    bound_policies,
    has_bindings,
    met_expressions,
    policy_expressions,
)
from stretto.web.api.configured.conversion import in_version
from stretto.web.api.configured.evaluation import MutationError, mutated
from stretto.web.api.configured.params import ParamsError, params_of
from stretto.web.api.configured.replacement import replace_reviewed
from stretto.web.api.failures import ApiError, details_of
from stretto.web.api.state import AdmittedWrite, ApiState

Json = dict[str, Any]

_PART: Final = "policies"
_ROUNDED: Final = ("CREATE", "UPDATE")
"""Operations of writes that policies may change."""


@dataclass(frozen=True)
class _Fault:
    """A policy could not change an object."""

    #: Message for users.
    message: str
    #: Reason of the refusal.
    reason: str = "Invalid"


def mutate_by_policies(state: ApiState, admission: AdmittedWrite) -> None:
    """Change an object by the mutating policies of the cluster.

    Raises:
        ApiError: a policy that fails closed cannot be evaluated, or its result is not an object.
    """
    concerns = admission.operation in _ROUNDED and has_bindings(state, MUTATING)
    attributes = attributes_of(state, admission) if concerns else None
    bound = [] if attributes is None else list(bound_policies(state, attributes, MUTATING))
    if not bound:
        return
    admission.rounds.begin(_PART, _content(admission))
    faults: list[_Fault] = []
    for each in bound:
        place = "policy '{}' with binding '{}' denied request: ".format(*each.names)
        found = list(_faults(state, admission, each))
        if each.fails_closed:
            faults += [_Fault(place + fault.message, fault.reason) for fault in found]
    admission.rounds.end(_PART, _content(admission))
    if faults:
        raise _refusal(admission, faults)


def _content(admission: AdmittedWrite) -> bytes:
    return msgspec.json.encode([admission.item, admission.shown])


def _refusal(admission: AdmittedWrite, faults: list[_Fault]) -> ApiError:
    resource = admission.resource
    name = admission.call.route.name or (admission.item or {}).get("metadata", {}).get("name", "")
    details = details_of(resource.group, resource.resource, name)
    details["causes"] = [{"message": each.message} for each in faults]
    return ApiError(403, faults[0].reason, faults[0].message, details)


def _faults(state: ApiState, admission: AdmittedWrite, bound: BoundPolicy) -> Iterator[_Fault]:
    """Change an object by a policy with each of its parameters; yield failures."""
    try:
        found = params_of(state, _attributes(state, admission), bound.spec, bound.binding["spec"])
    except ParamsError as error:
        yield _Fault(str(error), "Forbidden")
        return
    for params in found:
        uid = ((params or {}).get("metadata") or {}).get("uid", "")
        key = (*bound.names, uid)
        if not admission.rounds.may_run(_PART, key):
            continue
        before = _content(admission)
        met, problem = met_expressions(state, _attributes(state, admission), bound, params)
        if problem:
            yield _Fault(problem)
        elif met is not None:
            yield from _mutated(state, admission, bound, params)
            changed = _content(admission) != before
            repeats = bound.spec.get("reinvocationPolicy") == "IfNeeded"
            admission.rounds.has_run(_PART, key, changed=changed, repeats=repeats)


def _attributes(state: ApiState, admission: AdmittedWrite) -> WriteAttributes:
    """Return the attributes of a write in its current state."""
    found = attributes_of(state, admission)
    assert found is not None
    return found


def _mutated(
    state: ApiState, admission: AdmittedWrite, bound: BoundPolicy, params: Json | None
) -> Iterator[_Fault]:
    """Apply the mutations of a policy, each to the result of the previous one."""
    for mutation in bound.spec.get("mutations") or ():
        attributes = _attributes(state, admission)
        expressions = policy_expressions(state, attributes, bound, params)
        reviewed = in_version(state, attributes, attributes.item, bound.kind) or {}
        struct = _struct(state, attributes, bound)
        try:
            result = mutated(reviewed, expressions, mutation, struct)
        except MutationError as error:
            yield _Fault(str(error))
            continue
        replace_reviewed(state, admission, result, bound.kind, strict=True)


def _struct(state: ApiState, attributes: WriteAttributes, bound: BoundPolicy) -> StructType:
    """Return the struct of the object that a policy changes."""
    shown, kind = attributes.admission.shown_kind, bound.kind
    if shown is not None:
        found = struct_of_kind(shown.group, shown.version, shown.kind)
        return found or attributes.admission.resource.struct
    other = state.resources.find(kind.group, kind.version, kind.plural)
    return (other or attributes.admission.resource).struct
