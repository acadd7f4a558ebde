"""Selectors of labels, nodes and fields, compiled into rules.

Label selectors (as text ``app=web,tier in (fe,be),!old`` or as the struct) and node selectors
(which also compare integers) have the same form of rules. As in Kubernetes, an absent label
selector matches nothing and an empty one matches everything.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any, Final

import msgspec

from stretto.api.wire import names
from stretto.api.wire.meta import LabelSelector, NodeSelector, SelectorRequirement
from stretto.base.errors import InputError


class Operator(StrEnum):
    """Operators of a rule, spelled as on the wire."""

    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"
    #: Greater than one integer; node selectors only.
    GT = "Gt"
    #: Less than one integer; node selectors only.
    LT = "Lt"


_OPERATORS: Final = {operator.value: operator for operator in Operator}
_ON_LABELS: Final = (Operator.IN, Operator.NOT_IN, Operator.EXISTS, Operator.DOES_NOT_EXIST)
_ABSENCE_HOLDS: Final = (Operator.NOT_IN, Operator.DOES_NOT_EXIST)
_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,19}")
_INT64: Final = range(-(2**63), 2**63)


class SelectorRule(msgspec.Struct, frozen=True, gc=False):
    """One compiled rule about one key."""

    #: Label key or field name.
    key: str
    #: Operator.
    operator: Operator
    #: Values to compare with, sorted; the integers of Gt and Lt as text.
    values: tuple[str, ...] = ()

    def holds(self, labels: Mapping[str, str]) -> bool:
        """Return whether ``labels`` match; only NotIn and DoesNotExist match a missing key."""
        value = labels.get(self.key)
        if value is None:
            return self.operator in _ABSENCE_HOLDS
        if self.operator is Operator.IN:
            return value in self.values
        if self.operator is Operator.NOT_IN:
            return value not in self.values
        if self.operator is Operator.EXISTS:
            return True
        return self.operator is not Operator.DOES_NOT_EXIST and self._compares(value)

    def _compares(self, value: str) -> bool:
        """Compare integers by Gt or Lt; a label that is not an integer matches neither."""
        mine, limit = integer(value), integer(self.values[0])
        if mine is None or limit is None:
            return False
        return mine > limit if self.operator is Operator.GT else mine < limit

    def __str__(self) -> str:
        if self.operator is Operator.EXISTS:
            return self.key
        if self.operator is Operator.DOES_NOT_EXIST:
            return f"!{self.key}"
        if self.operator in (Operator.GT, Operator.LT):
            return f"{self.key}{'>' if self.operator is Operator.GT else '<'}{self.values[0]}"
        if len(self.values) == 1:
            return f"{self.key}{'=' if self.operator is Operator.IN else '!='}{self.values[0]}"
        return f"{self.key} {self.operator.value.lower()} ({','.join(self.values)})"


class Selector(msgspec.Struct, frozen=True, gc=False):
    """A conjunction of rules, sorted so that equal selectors are equal values."""

    #: The rules, by key.
    rules: tuple[SelectorRule, ...] = ()
    #: True for an absent selector, which matches nothing.
    nothing: bool = False

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Return whether ``labels`` match all rules."""
        if self.nothing:
            return False
        return all(rule.holds(labels) for rule in self.rules)

    def keys(self) -> frozenset[str]:
        """The label keys that affect the result."""
        return frozenset(rule.key for rule in self.rules)

    def __str__(self) -> str:
        return "<nothing>" if self.nothing else ",".join(map(str, self.rules))


EVERYTHING: Final = Selector()
"""Selector that matches every object."""

NOTHING: Final = Selector(nothing=True)
"""Selector that matches no object: the meaning of an absent selector."""


def integer(text: str) -> int | None:
    """Parse a label as a 64-bit integer like Gt and Lt: ``007`` is 7; None for other texts."""
    if not _INTEGER.fullmatch(text):
        return None
    number = int(text)
    return number if number in _INT64 else None


# ---------------------------------------------------------------- structs


def label_selector(selector: LabelSelector | None, where: str) -> Selector:
    """Compile a label selector; an absent one matches nothing, an empty one everything.

    Raises:
        InputError: a requirement is invalid; the message contains its path.
    """
    if selector is None:
        return NOTHING
    rules = [
        SelectorRule(
            names.label_key(key, f"{where}.matchLabels"),
            Operator.IN,
            (names.label_value(value, f"{where}.matchLabels.{key}"),),
        )
        for key, value in selector.match_labels.items()
    ]
    for index, requirement in enumerate(selector.match_expressions):
        path = f"{where}.matchExpressions[{index}]"
        rules.append(label_rule(requirement, path, _ON_LABELS))
    return _all_of(rules)


def label_rule(
    requirement: SelectorRequirement, where: str, allowed: Sequence[Operator]
) -> SelectorRule:
    """Compile one requirement on a label; refuse an invalid one with its path."""
    names.label_key(requirement.key, f"{where}.key")
    rule = _rule(requirement, where, allowed)
    if rule.operator in (Operator.IN, Operator.NOT_IN):
        for index, value in enumerate(requirement.values):
            names.label_value(value, f"{where}.values[{index}]")
    return rule


def _rule(
    requirement: SelectorRequirement, where: str, allowed: Iterable[Operator]
) -> SelectorRule:
    """Compile a requirement, after a check of its operator and number of values."""
    operator = _OPERATORS.get(requirement.operator)
    if operator is None or operator not in allowed:
        expected = f"one of {', '.join(allowed)}"
        raise InputError(f"{where}.operator", requirement.operator or None, expected)
    values = requirement.values
    path = f"{where}.values"
    if operator in (Operator.IN, Operator.NOT_IN):
        if not values:
            raise InputError(path, None, f"at least one value for {operator}")
    elif operator in (Operator.EXISTS, Operator.DOES_NOT_EXIST):
        if values:
            raise InputError(path, list(values), f"no values for {operator}", "use In instead")
    elif len(values) != 1 or integer(values[0]) is None:
        raise InputError(path, list(values), f"exactly one integer for {operator}")
    return SelectorRule(requirement.key, operator, tuple(sorted(set(values))))


def _all_of(rules: Iterable[SelectorRule]) -> Selector:
    """Return the conjunction of rules without duplicates, in a fixed order."""
    return Selector(tuple(sorted(set(rules), key=str)))


# ---------------------------------------------------------------- nodes

NODE_NAME: Final = "metadata.name"
"""The only field that ``matchFields`` supports."""


class NodeTerm(msgspec.Struct, frozen=True, gc=False):
    """One compiled alternative of a node selector."""

    #: Rules on labels.
    labels: Selector
    #: Rules on the node's name.
    fields: Selector

    def matches(self, name: str, labels: Mapping[str, str]) -> bool:
        """Return whether the node matches the term; a term without rules matches no node."""
        if not self.labels.rules and not self.fields.rules:
            return False
        return self.labels.matches(labels) and self.fields.matches({NODE_NAME: name})

    def names(self) -> frozenset[str] | None:
        """The only node names that can match the term; None if any node can match."""
        pinned: frozenset[str] | None = None
        for rule in self.fields.rules:
            if rule.operator is Operator.IN:
                values = frozenset(rule.values)
                pinned = values if pinned is None else pinned & values
        return pinned


def selector_text(selector: Mapping[str, Any]) -> str:
    """Format a decoded label selector as ``parse_labels`` reads it; empty if it selects all."""
    parts = [(key, f"{key}={value}") for key, value in (selector.get("matchLabels") or {}).items()]
    for each in selector.get("matchExpressions") or ():
        key, operator = each.get("key", ""), each.get("operator")
        values = ",".join(sorted(each.get("values") or ()))
        texts = {
            "In": f"{key} in ({values})",
            "NotIn": f"{key} notin ({values})",
            "Exists": key,
            "DoesNotExist": f"!{key}",
        }
        parts.append((key, texts.get(str(operator), key)))
    return ",".join(text for _, text in sorted(parts))


def node_terms(selector: NodeSelector | None, where: str) -> tuple[NodeTerm, ...]:
    """Compile the alternatives of a node selector; any one of them selects a node."""
    if selector is None:
        return ()
    return tuple(
        node_term(term.match_expressions, term.match_fields, f"{where}.nodeSelectorTerms[{index}]")
        for index, term in enumerate(selector.node_selector_terms)
    )


def node_term(
    expressions: Iterable[SelectorRequirement], fields: Iterable[SelectorRequirement], where: str
) -> NodeTerm:
    """Compile one alternative."""
    return NodeTerm(
        _all_of(
            label_rule(each, f"{where}.matchExpressions[{index}]", tuple(Operator))
            for index, each in enumerate(expressions)
        ),
        _all_of(
            _field_rule(each, f"{where}.matchFields[{index}]") for index, each in enumerate(fields)
        ),
    )


def _field_rule(requirement: SelectorRequirement, where: str) -> SelectorRule:
    """Compile a rule on the name of a node: In or NotIn with exactly one value."""
    if requirement.key != NODE_NAME:
        raise InputError(f"{where}.key", requirement.key, NODE_NAME, "use matchExpressions")
    rule = _rule(requirement, where, (Operator.IN, Operator.NOT_IN))
    if len(requirement.values) != 1:
        raise InputError(f"{where}.values", list(requirement.values), "exactly one node name")
    return rule


# ---------------------------------------------------------------- text

_TOKEN: Final = re.compile(r"\s*(==|!=|[=!<>(),]|[^\s=!<>(),]+)\s*")
_SIGNS: Final = {"=": Operator.IN, "==": Operator.IN, "!=": Operator.NOT_IN}
_WORDS: Final = {"in": Operator.IN, "notin": Operator.NOT_IN}
_ORDER: Final = {">": Operator.GT, "<": Operator.LT}
_PUNCTUATION: Final = frozenset(("==", "!=", *"=!<>(),"))
_SYNTAX: Final = "a label selector such as app=web,tier in (fe,be),!old"


def parse_labels(text: str, where: str = "label selector") -> Selector:
    """Parse a label selector with the syntax of ``kubectl -l``; empty matches everything.

    Raises:
        InputError: the text is malformed.
    """
    tokens = [match[1] for match in _TOKEN.finditer(text)]
    if not tokens:
        return EVERYTHING
    return _all_of(_Labels(text, where, tokens).rules())


class _Labels:
    """Parser of a selector text, token by token."""

    def __init__(self, text: str, where: str, tokens: list[str]) -> None:
        self._text = text
        self._where = where
        self._tokens = tokens
        self._next = 0

    def rules(self) -> Iterator[SelectorRule]:
        """Yield the rules, separated by commas."""
        yield self._requirement()
        while (token := self._take()) is not None:
            if token != ",":
                raise self._refusal()
            yield self._requirement()

    def _requirement(self) -> SelectorRule:
        """Parse one rule: ``!key``, ``key``, ``key=value``, ``key in (values)`` or ``key>1``."""
        absent = self._peek() == "!"
        if absent:
            self._take()
        key = self._word()
        follows = self._peek()
        if absent or follows is None or follows == ",":
            return self._checked(key, Operator.DOES_NOT_EXIST if absent else Operator.EXISTS, ())
        self._take()
        if follows in _SIGNS:
            return self._checked(key, _SIGNS[follows], (self._value(),))
        if follows in _ORDER:
            return self._checked(key, _ORDER[follows], (self._value(),))
        if follows in _WORDS:
            return self._checked(key, _WORDS[follows], self._list())
        raise self._refusal()

    def _list(self) -> tuple[str, ...]:
        """Parse the values in parentheses; there is an empty value between two commas in a row."""
        if self._take() != "(":
            raise self._refusal()
        values = [self._value()]
        while (token := self._take()) == ",":
            values.append(self._value())
        if token != ")":
            raise self._refusal()
        return tuple(values)

    def _checked(self, key: str, operator: Operator, values: tuple[str, ...]) -> SelectorRule:
        requirement = SelectorRequirement(key=key, operator=operator.value, values=values)
        return label_rule(requirement, self._where, tuple(Operator))

    def _value(self) -> str:
        """Return the next word, or the empty value before a sign."""
        token = self._peek()
        if token is None or token in _PUNCTUATION:
            return ""
        self._next += 1
        return token

    def _word(self) -> str:
        token = self._take()
        if token is None or token in _PUNCTUATION:
            raise self._refusal()
        return token

    def _peek(self) -> str | None:
        return self._tokens[self._next] if self._next < len(self._tokens) else None

    def _take(self) -> str | None:
        token = self._peek()
        self._next += 1
        return token

    def _refusal(self) -> InputError:
        return InputError(self._where, self._text, _SYNTAX)
