"""Offer constraints: predicates on attributes that an agent must meet for a role of a framework.

The structs have the form of Mesos' OfferConstraints in JSON. Regular expressions are RE2, match the
whole text, and are limited as in Mesos: 4 KB of memory and a program of 100 instructions.
"""

from collections.abc import Callable, Collection, Mapping
from enum import Enum
from typing import Any, Final, TypeAlias

import msgspec

from stretto.base.errors import InputError, MissingExtraError
from stretto.offers.allocator.subjects.agents import AgentInfo

REGEX_MEMORY: Final = 4096
"""Maximum memory of the program of an expression, in bytes."""
REGEX_PROGRAM: Final = 100
"""Maximum number of instructions of the program of an expression."""


class PseudoAttribute(Enum):
    """Properties of an agent that are not attributes."""

    HOSTNAME = "HOSTNAME"
    REGION = "REGION"
    ZONE = "ZONE"


class AttributeSelector(msgspec.Struct, frozen=True):
    """The property that a predicate reads; exactly one member is set."""

    #: Name of an attribute; the first attribute of that name is read.
    attribute_name: str | None = None
    #: A property that is not an attribute.
    pseudoattribute_type: PseudoAttribute | None = None


class ComparedText(msgspec.Struct, frozen=True):
    """Argument of an equality."""

    #: The text.
    value: str


class ComparedPattern(msgspec.Struct, frozen=True):
    """Argument of a match."""

    #: The expression.
    regex: str


class AttributePredicate(msgspec.Struct, frozen=True):
    """A predicate; exactly one member is set."""

    #: The property exists.
    exists: Mapping[str, Any] | None = None
    #: The property is missing.
    not_exists: Mapping[str, Any] | None = None
    #: The property is equal to the text, or is not a text.
    text_equals: ComparedText | None = None
    #: The property differs from the text, is missing, or is not a text.
    text_not_equals: ComparedText | None = None
    #: The property matches, or is not a text.
    text_matches: ComparedPattern | None = None
    #: The property does not match, is missing, or is not a text.
    text_not_matches: ComparedPattern | None = None


class AttributeConstraint(msgspec.Struct, frozen=True):
    """A predicate on one property."""

    #: The property.
    selector: AttributeSelector
    #: The predicate.
    predicate: AttributePredicate


class ConstraintGroup(msgspec.Struct, frozen=True):
    """Constraints that must all be met."""

    #: The constraints.
    attribute_constraints: tuple[AttributeConstraint, ...] = ()


class RoleConstraints(msgspec.Struct, frozen=True):
    """Groups; at least one of them must match."""

    #: The groups.
    groups: tuple[ConstraintGroup, ...] = ()


class OfferConstraints(msgspec.Struct, frozen=True):
    """Constraints by role."""

    #: Constraints of each role; a role without an entry accepts every agent.
    role_constraints: Mapping[str, RoleConstraints] = {}


AgentTest: TypeAlias = Callable[[AgentInfo], bool]
"""Predicate of an agent; true if it may be offered."""

_Property: TypeAlias = tuple[bool, str | None]
"""True in first place if a property exists; its text, or ``None`` for other types."""


def compile_constraints(
    constraints: OfferConstraints, roles: Collection[str]
) -> dict[str, AgentTest]:
    """Tests of agents by role.

    Raises:
        InputError: a role is not subscribed, a group is empty, a selector or predicate does not
            have exactly one member, or an expression is invalid or too large.
        MissingExtraError: an expression is used and ``google-re2`` is not installed.
    """
    compiled = {}
    for role, constraint in constraints.role_constraints.items():
        where = f"offer_constraints.role_constraints[{role}]"
        if role not in roles:
            raise InputError(where, role, "a role of the framework", "subscribe to it first")
        if not constraint.groups:
            raise InputError(f"{where}.groups", None, "at least one group", "drop the role")
        groups = [
            _group(group, f"{where}.groups[{number}]")
            for number, group in enumerate(constraint.groups)
        ]
        compiled[role] = _any_of(groups)
    return compiled


def _any_of(tests: list[AgentTest]) -> AgentTest:
    return lambda agent: any(test(agent) for test in tests)


def _group(group: ConstraintGroup, where: str) -> AgentTest:
    if not group.attribute_constraints:
        field = f"{where}.attribute_constraints"
        raise InputError(field, None, "at least one constraint", "drop the group")
    tests = [
        _constraint(each, f"{where}.attribute_constraints[{number}]")
        for number, each in enumerate(group.attribute_constraints)
    ]
    return lambda agent: all(test(agent) for test in tests)


def _constraint(constraint: AttributeConstraint, where: str) -> AgentTest:
    read = _selector(constraint.selector, f"{where}.selector")
    holds = _predicate(constraint.predicate, f"{where}.predicate")
    return lambda agent: holds(read(agent))


def _selector(selector: AttributeSelector, where: str) -> Callable[[AgentInfo], _Property]:
    name, pseudo = selector.attribute_name, selector.pseudoattribute_type
    if (name is None) == (pseudo is None):
        raise InputError(where, None, "attribute_name or pseudoattribute_type, not both")
    if pseudo is PseudoAttribute.HOSTNAME:
        return lambda agent: (True, agent.hostname)
    if pseudo is PseudoAttribute.REGION:
        return lambda agent: _present(agent.domain.region if agent.domain else None)
    if pseudo is PseudoAttribute.ZONE:
        return lambda agent: _present(agent.domain.zone if agent.domain else None)
    return lambda agent: next(
        ((True, each.text) for each in agent.attributes if each.name == name), (False, None)
    )


def _present(text: str | None) -> _Property:
    return text is not None, text


def _predicate(predicate: AttributePredicate, where: str) -> Callable[[_Property], bool]:
    given = [name for name in predicate.__struct_fields__ if getattr(predicate, name) is not None]
    if len(given) != 1:
        raise InputError(where, ", ".join(given) or None, "exactly one predicate")
    if predicate.exists is not None:
        return lambda found: found[0]
    if predicate.not_exists is not None:
        return lambda found: not found[0]
    if predicate.text_equals is not None:
        return _text(predicate.text_equals.value.__eq__, is_positive=True)
    if predicate.text_not_equals is not None:
        return _text(predicate.text_not_equals.value.__eq__, is_positive=False)
    if predicate.text_matches is not None:
        return _text(_pattern(predicate.text_matches.regex, where), is_positive=True)
    assert predicate.text_not_matches is not None
    return _text(_pattern(predicate.text_not_matches.regex, where), is_positive=False)


def _text(matches: Callable[[str], bool], is_positive: bool) -> Callable[[_Property], bool]:
    """A predicate on texts; other types always meet it, a missing property meets its negation."""

    def holds(found: _Property) -> bool:
        exists, text = found
        if not exists:
            return not is_positive
        return text is None or matches(text) == is_positive

    return holds


def _pattern(regex: str, where: str) -> Callable[[str], bool]:
    try:
        import re2
    except ImportError as error:
        raise MissingExtraError("expressions in offer constraints", "mesos") from error
    options = re2.Options()
    options.max_mem, options.log_errors = REGEX_MEMORY, False
    try:
        compiled = re2.compile(regex, options)
    except re2.error as error:
        raise InputError(f"{where}.regex", regex, "an RE2 expression", f"{error}") from error
    if compiled.programsize > REGEX_PROGRAM:
        expected = f"an expression of at most {REGEX_PROGRAM} instructions"
        raise InputError(f"{where}.regex", regex, expected, "shorten the expression")
    return lambda text: compiled.fullmatch(text) is not None
