"""Rules of admission policies and their bindings."""

import re
from typing import Final

from stretto.api.checks.fields.errors import (
    Errors,
    duplicate,
    forbidden,
    invalid,
    repeated,
    required,
    unsupported,
)
from stretto.api.checks.fields.texts import dns_subdomain, label_key, path_segment
from stretto.api.checks.kinds.extension.webhooks import check_conditions, check_operations
from stretto.api.checks.kinds.values import (
    FAILURE_POLICY,
    MATCH_POLICY,
    Json,
    check_selector,
    one_of,
)

_IDENTIFIER: Final = re.compile(r"[_a-zA-Z][_a-zA-Z0-9]*")
_BLANK: Final = "must be non-empty if specified"
_REASONS: Final = ("Forbidden", "Invalid", "RequestEntityTooLarge")
_ACTIONS: Final = ("Audit", "Deny", "Warn")
_NOT_FOUND: Final = ("Allow", "Deny")
_BOTH: Final = (
    "must not contain both Deny and Warn (repeating the same validation failure information in "
    "the API response and headers serves no purpose)"
)


def check_policy(item: Json, _old: Json | None) -> Errors:
    """Check a ValidatingAdmissionPolicy, except the compilation of its expressions."""
    spec = item.get("spec") or {}
    found: Errors = []
    if spec.get("failurePolicy") is None:
        found.append(required("spec.failurePolicy"))
    else:
        found += FAILURE_POLICY(spec["failurePolicy"], "spec.failurePolicy")
    found += _kind(spec.get("paramKind"))
    found += _constraints(spec.get("matchConstraints"), "spec.matchConstraints")
    found += check_conditions(spec.get("matchConditions") or [], "spec.matchConditions")
    found += _variables(spec.get("variables") or [])
    validations, notes = spec.get("validations") or [], spec.get("auditAnnotations") or []
    if not validations and not notes:
        detail = "validations or auditAnnotations must contain at least one item"
        found += [
            required("spec.validations", detail),
            required("spec.auditAnnotations", detail),
        ]
    for index, validation in enumerate(validations):
        found += _validation(validation, f"spec.validations[{index}]")
    keys: set[str] = set()
    for index, note in enumerate(notes):
        where, key = f"spec.auditAnnotations[{index}]", note.get("key", "")
        whole = f"{item['metadata'].get('name', '')}/{key}"
        found += [invalid(f"{where}.key", whole, each) for each in label_key(whole)]
        if key in keys:
            found.append(duplicate(f"{where}.key", key))
        keys.add(key)
        if not note.get("valueExpression", "").strip():
            found.append(required(f"{where}.valueExpression", "valueExpression is not specified"))
    return found


def _kind(kind: Json | None) -> Errors:
    if kind is None:
        return []
    path = "spec.paramKind"
    found: Errors = []
    version = kind.get("apiVersion", "")
    if not version:
        found.append(required(f"{path}.apiVersion"))
    elif version.count("/") > 1:
        detail = f"unexpected GroupVersion string: {version}"
        found.append(invalid(f"{path}.apiVersion", version, detail))
    if not kind.get("kind"):
        found.append(required(f"{path}.kind"))
    return found


def _constraints(constraints: Json | None, path: str) -> Errors:
    if constraints is None:
        return [required(path)]
    found = check_matches(constraints, path)
    if not constraints.get("resourceRules"):
        found.append(required(f"{path}.resourceRules"))
    return found


def check_matches(constraints: Json, path: str) -> Errors:
    """Check match constraints of requests."""
    found: Errors = []
    if constraints.get("matchPolicy") is None:
        found.append(required(f"{path}.matchPolicy"))
    else:
        found += MATCH_POLICY(constraints["matchPolicy"], f"{path}.matchPolicy")
    for name in ("namespaceSelector", "objectSelector"):
        if constraints.get(name) is None:
            found.append(required(f"{path}.{name}"))
        else:
            found += check_selector(constraints[name], f"{path}.{name}")
    for word in ("resourceRules", "excludeResourceRules"):
        for index, rule in enumerate(constraints.get(word) or ()):
            where = f"{path}.{word}[{index}]"
            names = rule.get("resourceNames") or ()
            again = repeated(names)
            for number, name in enumerate(names):
                here = f"{where}.resourceNames[{number}]"
                found += [invalid(here, name, each) for each in path_segment(name)]
                if number in again:
                    found.append(duplicate(here, name))
            found += check_operations(rule, where)
    return found


def _variables(variables: list[Json]) -> Errors:
    found: Errors = []
    names: set[str] = set()
    for index, variable in enumerate(variables):
        where, name = f"spec.variables[{index}]", variable.get("name", "")
        if not name:
            found.append(required(f"{where}.name", "name is not specified"))
        elif not _IDENTIFIER.fullmatch(name):
            detail = "must be a valid CEL identifier"
            found.append(invalid(f"{where}.name", name, detail))
        if name in names:
            found.append(duplicate(f"{where}.name", name))
        names.add(name)
        if not variable.get("expression", "").strip():
            found.append(required(f"{where}.expression", "expression is not specified"))
    return found


def _validation(validation: Json, path: str) -> Errors:
    found: Errors = []
    message = validation.get("message", "")
    if not validation.get("expression", "").strip():
        found.append(required(f"{path}.expression", "expression is not specified"))
    expression = validation.get("messageExpression", "")
    if expression and not expression.strip():
        found.append(invalid(f"{path}.messageExpression", expression, _BLANK))
    if message and not message.strip():
        found.append(invalid(f"{path}.message", message, _BLANK))
    elif re.search(r"[\n\r]", message.strip()):
        found.append(invalid(f"{path}.message", message, "must not contain line breaks"))
    reason = validation.get("reason")
    if reason is not None and reason not in _REASONS:
        found.append(unsupported(f"{path}.reason", reason, _REASONS))
    return found


_MUTATIONS: Final = {"ApplyConfiguration": "applyConfiguration", "JSONPatch": "jsonPatch"}
"""Member with the expression of a mutation, by its type."""
_CHANGING: Final = ("*", "CONNECT", "CREATE", "UPDATE")
"""Operations whose objects a policy can change."""


def check_policy_binding(item: Json, _old: Json | None) -> Errors:
    """Check a ValidatingAdmissionPolicyBinding."""
    spec = item.get("spec") or {}
    found = _policy_name(spec.get("policyName", ""))
    found += _param_ref(spec.get("paramRef"))
    if spec.get("matchResources") is not None:
        found += check_matches(spec["matchResources"], "spec.matchResources")
    return found + _actions(spec.get("validationActions") or [])


def check_mutating_binding(item: Json, _old: Json | None) -> Errors:
    """Check a MutatingAdmissionPolicyBinding."""
    spec = item.get("spec") or {}
    found = _policy_name(spec.get("policyName", "")) + _param_ref(spec.get("paramRef"))
    if spec.get("matchResources") is not None:
        found += check_matches(spec["matchResources"], "spec.matchResources")
    return found


def _policy_name(name: str) -> Errors:
    if not name:
        return [required("spec.policyName")]
    return [invalid("spec.policyName", name, each) for each in dns_subdomain(name)]


def _param_ref(ref: Json | None) -> Errors:
    if ref is None:
        return []
    path = "spec.paramRef"
    found: Errors = []
    if not ref.get("name") and ref.get("selector") is None:
        detail = "one of name or selector must be specified"
        found.append(required(path, detail))
    elif ref.get("name") and ref.get("selector") is not None:
        detail = "name and selector are mutually exclusive"
        found += [forbidden(f"{path}.{name}", detail) for name in ("name", "selector")]
    name = ref.get("name") or ""
    found += [invalid(f"{path}.name", name, each) for each in path_segment(name)]
    found += check_selector(ref.get("selector"), f"{path}.selector")
    action = ref.get("parameterNotFoundAction")
    if not action:
        found.append(required(f"{path}.parameterNotFoundAction"))
    elif action not in _NOT_FOUND:
        found.append(unsupported(f"{path}.parameterNotFoundAction", action, ("Deny", "Allow")))
    return found


def _actions(actions: list[str]) -> Errors:
    path = "spec.validationActions"
    found: Errors = []
    if not actions:
        found.append(required(path, "at least one validation action is required"))
    again = repeated(actions)
    for index, action in enumerate(actions):
        where = f"{path}[{index}]"
        if action not in _ACTIONS:
            found.append(unsupported(where, action, _ACTIONS))
        if index in again:
            found.append(duplicate(where, action))
    if {"Deny", "Warn"} <= set(actions):
        found.append(invalid(path, actions, _BOTH))
    return found


def check_mutating_policy(item: Json, _old: Json | None) -> Errors:
    """Check a MutatingAdmissionPolicy."""
    spec = item.get("spec") or {}
    found = _kind(spec.get("paramKind"))
    found += _constraints(spec.get("matchConstraints"), "spec.matchConstraints")
    found += _mutable_operations(spec.get("matchConstraints") or {})
    found += check_conditions(spec.get("matchConditions") or [], "spec.matchConditions")
    found += _variables(spec.get("variables") or [])
    mutations = spec.get("mutations") or []
    if not mutations:
        detail = "mutations must contain at least one item"
        found.append(required("spec.mutations", detail))
    for index, mutation in enumerate(mutations):
        found += _mutation(mutation, f"spec.mutations[{index}]")
    policy = spec.get("reinvocationPolicy")
    if not policy:
        return [*found, required("spec.reinvocationPolicy")]
    return found + one_of(policy, "spec.reinvocationPolicy", ("IfNeeded", "Never"))


def _mutation(mutation: Json, path: str) -> Errors:
    """Check one mutation: it has the expression of its type and no other."""
    kind = mutation.get("patchType", "")
    if not kind:
        return [required(f"{path}.patchType")]
    if kind not in _MUTATIONS:
        return [unsupported(f"{path}.patchType", kind, tuple(_MUTATIONS))]
    found: Errors = []
    for other, member in _MUTATIONS.items():
        stated = mutation.get(member)
        if other == kind and not ((stated or {}).get("expression") or "").strip():
            found.append(required(f"{path}.{member}.expression"))
        elif other != kind and stated is not None:
            detail = f"must not be specified when patchType is {kind}"
            found.append(invalid(f"{path}.{member}", f"{{{member}}}", detail))
    return found


def _mutable_operations(constraints: Json) -> Errors:
    """Check that a policy can change the objects of all operations."""
    path = "spec.matchConstraints.resourceRules.operations"
    return [
        unsupported(path, each, _CHANGING)
        for rule in constraints.get("resourceRules") or ()
        for each in rule.get("operations") or ()
        if each == "DELETE"
    ]
