"""Checks of FrameworkInfo, of its updates, and of offer constraints."""

from collections.abc import Iterable
from typing import Final

from stretto.offers.master.checks.resources import id_error
from stretto.offers.master.roles import role_error
from stretto.offers.master.state.frameworks import capabilities_of, roles_of
from stretto.offers.messages.schema import Message

LONGEST: Final = 2.0**63 / 1e9
"""Seconds; a duration of 64-bit nanoseconds is shorter."""


def info_error(info: Message) -> str | None:
    """Error in a FrameworkInfo; ``None`` if it is valid."""
    return (
        _roles_error(info)
        or (id_error(info["id"]["value"]) if info.get("id", {}).get("value") else None)
        or _filters_error(info)
        or _timeout_error(info)
    )


def subscription_error(
    info: Message, suppressed: Iterable[str], constraints: Message
) -> str | None:
    """Error that prevents a subscription; ``None`` if it is valid."""
    return info_error(info) or suppressed_error(info, suppressed) or constraints_error(constraints)


def suppressed_error(info: Message, suppressed: Iterable[str]) -> str | None:
    """Error about a suppressed role that is not subscribed; ``None`` if there is none."""
    roles = set(roles_of(info))
    wrong = next((role for role in sorted(suppressed) if role not in roles), None)
    return f"Suppressed role '{wrong}' is not contained in the list of roles" if wrong else None


def update_error(old: Message, new: Message) -> str | None:
    """Error about a changed field that is immutable; ``None`` if there is none."""
    if old.get("principal") != new.get("principal"):
        return "Changing framework's principal is not allowed."
    if old["user"] != new["user"]:
        return (
            "Updating 'FrameworkInfo.user' is unsupported; attempted to update from"
            f" '{old['user']}' to '{new['user']}'"
        )
    before, after = old.get("checkpoint", False), new.get("checkpoint", False)
    if before != after:
        return (
            "Updating 'FrameworkInfo.checkpoint' is unsupported; attempted to update from"
            f" '{str(before).lower()}' to '{str(after).lower()}'"
        )
    return None


def constraints_error(constraints: Message) -> str | None:
    """Error in OfferConstraints, whose expressions are compiled; ``None`` if they are valid."""
    for role, each in constraints.get("role_constraints", {}).items():
        groups = each.get("groups", [])
        if not groups:
            return (
                "'OfferConstraints::role_constraints' has an empty"
                f" 'RoleConstraints::groups' for role {role}"
            )
        for group in groups:
            rules = group.get("attribute_constraints", [])
            if not rules:
                return (
                    f"'OfferConstraints::RoleConstraints::groups' for role {role}contains an empty"
                    " RoleConstraints::Group"
                )
            error = next((found for rule in rules if (found := _rule_error(rule))), None)
            if error:
                return f"A role {role} has an invalid 'AttributeConstraint': {error}"
    return None


def _roles_error(info: Message) -> str | None:
    if "MULTI_ROLE" not in capabilities_of(info):
        if info.get("roles"):
            return (
                "'FrameworkInfo.roles' must not be set when the framework is not MULTI_ROLE capable"
            )
        error = role_error(info.get("role", "*"))
        return f"'FrameworkInfo.role' is not a valid role: {error}" if error else None
    if "role" in info:
        return "'FrameworkInfo.role' must not be set when the framework is MULTI_ROLE capable"
    roles = info.get("roles", [])
    twice = dict.fromkeys(role for role in roles if roles.count(role) > 1)
    if twice:
        return f"'FrameworkInfo.roles' contains duplicate items: {{ {', '.join(twice)} }}"
    error = next((found for role in roles if (found := role_error(role))), None)
    return f"'FrameworkInfo.roles' contains invalid role: {error}" if error else None


def _filters_error(info: Message) -> str | None:
    for filters in info.get("offer_filters", {}).values():
        for each in filters.get("min_allocatable_resources", {}).get("quantities", ()):
            amounts = each.get("quantities", {})
            if not amounts:
                return "Resource quantities must contain at least one quantity"
            negative = any(amount["value"] < 0 for amount in amounts.values())
            if negative:
                return "Resource quantities must be non-negative"
    return None


def _timeout_error(info: Message) -> str | None:
    timeout = info.get("failover_timeout", 0.0)
    if -LONGEST < timeout < LONGEST:
        return None
    return f"The framework failover_timeout ({timeout:g}) is invalid"


def _rule_error(rule: Message) -> str | None:
    selector, predicate = rule["selector"], rule["predicate"]
    if len(selector) != 1:
        return "Exactly one of 'AttributeConstraint::Selector::selector' fields must be set"
    if len(predicate) != 1:
        return "Unknown predicate type"
    (body,) = predicate.values()
    return _pattern_error(body["regex"]) if "regex" in body else None


def _pattern_error(pattern: str) -> str | None:
    """RE2's error for an expression."""
    import re2

    options = re2.Options()
    options.max_mem, options.log_errors = 4096, False
    try:
        compiled = re2.compile(pattern, options)
    except re2.error as error:
        text = error.args[0].decode() if isinstance(error.args[0], bytes) else str(error.args[0])
        return f"Failed to construct regex from pattern '{pattern}': {text}"
    if compiled.programsize > 100:
        return (
            f"Regex '{pattern}' is too complex: program size of {compiled.programsize} exceeds 100"
        )
    return None
