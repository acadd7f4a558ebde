"""The cost of an evaluation and its limit.

The costs of calls are those of ``interpreter/runtimecost.go`` in cel-go and of
``library/cost.go`` in kube-apiserver.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from math import ceil
from typing import Any, Final

from stretto.api.checks.fields.patterns import COMPILATION, TextPattern, program_of
from stretto.cel.running.values import OverBudgetError, size_of
from stretto.cel.running.work import Work

CALL_LIMIT: Final = 1_000_000
"""Maximum cost of one evaluation."""
OBJECT_LIMIT: Final = 10_000_000
"""Maximum cost of all rules for one object, and of all expressions of one policy."""
OBJECT_EXCEEDED: Final = (
    "validation failed due to running out of cost budget, no further validation rules will be run"
)
"""Text about expressions that together exceed the limit of an object, as in kube-apiserver."""
LIST_COST: Final = 10
MAP_COST: Final = 30
STRUCT_COST: Final = 40
MOST_CHARACTERS: Final = 10_000_000
"""Maximum length of a text that a function makes; a longer one exceeds the limit of the cost."""
_MOST_BUILT: Final = 100_000_000
"""Maximum sum of the lengths of new texts; an item of a list counts as 10 characters."""
_ITEM: Final = 10
TRAVERSAL: Final = 0.1
"""Cost per character of a text."""
_PATTERN: Final = 0.25
"""Cost per character of a pattern."""
_STEPS: Final = 12
"""Steps of RE2 that cost 1, if they are many: 60 ms are the limit of an evaluation."""
_FEW_STEPS: Final = 100_000
"""Steps of RE2 that have only the cost of cel-go: they take half a millisecond."""
_FOUND: Final = 60
"""Cost of each part that a search finds."""
_CHECK_COST: Final = 350_000
"""Cost of a check of rights."""
_SELECTOR: Final = 0.5
_REQUIREMENT: Final = LIST_COST + STRUCT_COST


class Budget:
    """The cost and the work that an evaluation has left."""

    def __init__(self, limit: int = CALL_LIMIT, work: Work | None = None) -> None:
        """Limit an evaluation.

        Args:
            limit: the maximum cost.
            work: the work that is left; default: that of one object.
        """
        self._limit = limit
        #: The work that is left.
        self.work = work or Work()
        #: Cost so far.
        self.spent = 0
        self._built = 0

    def spend(self, cost: int) -> None:
        """Add a cost.

        Raises:
            OverBudgetError: the sum exceeds the limit.
        """
        self.spent += cost
        if self.spent > self._limit:
            raise OverBudgetError

    def build(self, result: Any) -> None:
        """Add the size of the result of a function, which its cost may not contain.

        Raises:
            OverBudgetError: the results need too much memory.
        """
        kind = type(result)
        if kind is str or kind is list:  # a list that a loop accumulates is built once
            self._built += len(result) * (1 if kind is str else _ITEM)
            if self._built > _MOST_BUILT:
                raise OverBudgetError

    def left(self) -> int:
        """Return the cost that is left."""
        return self._limit - self.spent


def limited(size: int) -> None:
    """Refuse a text before it is made.

    Args:
        size: its length in characters.

    Raises:
        OverBudgetError: it is too long.
    """
    if size > MOST_CHARACTERS:
        raise OverBudgetError


def limited_search(program: TextPattern, text: str) -> None:
    """Refuse a search before it begins.

    Raises:
        OverBudgetError: it may take too many steps.
    """
    if program.size * (COMPILATION + len(text)) > CALL_LIMIT * _STEPS:
        raise OverBudgetError


CallCost = Callable[[Sequence[Any], Any], int]
"""The cost of a call with some arguments and a result."""


def call_cost(name: str, form: str) -> CallCost | None:
    """Return the cost of a function; ``None`` for a cost of 1.

    Args:
        name: name of the function.
        form: identifier of its form.
    """
    return _COSTS.get(form) or _COSTS.get(name)


def comparison_cost(one: Any, two: Any) -> int:
    """Return the cost of a test for equality."""
    return ceil(min(size_of(one), size_of(two)) * TRAVERSAL)


def _share(size: float, factor: float = TRAVERSAL) -> int:
    return ceil(size * factor)


def _first(factor: float) -> CallCost:
    return lambda arguments, _: _share(size_of(arguments[0]), factor)


def _both(arguments: Sequence[Any], _: Any) -> int:
    return _share(size_of(arguments[0]) + size_of(arguments[1]))


def _smaller(arguments: Sequence[Any], _: Any) -> int:
    return _share(min(size_of(arguments[0]), size_of(arguments[1])))


def _matched(arguments: Sequence[Any], result: Any) -> int:
    stated = _share(1 + size_of(arguments[0])) * _share(size_of(arguments[1]), _PATTERN)
    text, pattern = arguments[:2]
    steps = program_of(pattern, is_ascii=text.isascii()).size * len(text)
    found = len(result) * _FOUND if isinstance(result, list) else 0
    return max(stated, found, steps // _STEPS if steps > _FEW_STEPS else 0)


def _contained(arguments: Sequence[Any], _: Any) -> int:
    return _share(size_of(arguments[0])) * _share(size_of(arguments[1]))


def _traversed(value: Any, known: dict[int, int]) -> int:
    """Return the cost of a walk over a value; its parts may be the same object."""
    if isinstance(value, list | tuple | Mapping):
        if id(value) not in known:
            known[id(value)] = sum(_traversed(each, known) for each in _parts(value))
        return known[id(value)]
    if isinstance(value, str):
        return int(len(value.encode("utf-8", "surrogatepass")) * TRAVERSAL)
    if isinstance(value, bytes):
        return int(len(value) * TRAVERSAL)
    return 1


def _parts(value: Any) -> Iterable[Any]:
    return chain(value.keys(), value.values()) if isinstance(value, Mapping) else value


def _selected(arguments: Sequence[Any], _: Any) -> int:
    size = size_of(arguments[1])
    return LIST_COST + _share(size) + _share(_share(size, _SELECTOR), _REQUIREMENT)


def _sets(factor: int) -> CallCost:
    return lambda arguments, _: 1 + size_of(arguments[0]) * size_of(arguments[1]) * factor


def _created(_: Sequence[Any], result: Any) -> int:
    return 1 + LIST_COST + size_of(result)


def _flattened(arguments: Sequence[Any], _: Any) -> int:
    depth = arguments[1] if len(arguments) == 2 else 1
    return 1 + LIST_COST + size_of(arguments[0]) * int(depth)


def _compared(position: int) -> CallCost:
    def cost(arguments: Sequence[Any], _: Any) -> int:
        items = arguments[position]
        factor = 2 + TRAVERSAL * bool(items and isinstance(items[0], str | bytes))
        return 1 + LIST_COST + int(len(items) ** 2 * factor)

    return cost


def _contains_ip(arguments: Sequence[Any], _: Any) -> int:
    size = arguments[0].bytes_compared
    other = arguments[1]
    return _share(2 * size) + (_share(size_of(other)) if isinstance(other, str) else 0)


def _contains_cidr(arguments: Sequence[Any], result: Any) -> int:
    return _contains_ip(arguments, result) + _share(arguments[0].bytes_compared) + 1


def _validated(arguments: Sequence[Any], _: Any) -> int:
    return _share(1 + size_of(arguments[1])) * _share(arguments[0].pattern_size, _PATTERN)


_COSTS: Final[Mapping[str, CallCost]] = {
    "check": lambda _arguments, _: _CHECK_COST,
    **dict.fromkeys(("fieldSelector", "labelSelector"), _selected),
    **dict.fromkeys(
        ("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"),
        lambda arguments, _: _traversed(arguments[0], {}),
    ),
    **dict.fromkeys(
        (
            *("url", "lowerAscii", "upperAscii", "substring", "trim", "jsonpatch.escapeKey"),
            *("cidr", "isIP", "isCIDR", "string_to_ip", "quantity", "isQuantity", "semver"),
            *("isSemver", "startsWith", "endsWith", "string_to_bytes", "bytes_to_string"),
            *("strings.quote", "format"),
        ),
        _first(TRAVERSAL),
    ),
    **dict.fromkeys(("replace", "split", "ip.isCanonical"), _first(2 * TRAVERSAL)),
    "join": lambda _arguments, result: _share(size_of(result), 2 * TRAVERSAL),
    **dict.fromkeys(("find", "findAll", "matches_string"), _matched),
    "in_list": lambda arguments, _: size_of(arguments[1]),
    **dict.fromkeys(
        (
            f"{name}_{kind}"
            for name in ("less", "greater", "less_equals", "greater_equals")
            for kind in ("string", "bytes")
        ),
        _smaller,
    ),
    **dict.fromkeys(("add_string", "add_bytes"), _both),
    "contains": _contained,
    "containsIP": _contains_ip,
    "containsCIDR": _contains_cidr,
    "validate": _validated,
    "sets.contains": _sets(1),
    "sets.intersects": _sets(1),
    "sets.equivalent": _sets(2),
    **dict.fromkeys(("slice", "lists.range", "reverse"), _created),
    "flatten": _flattened,
    "distinct": _compared(0),
    "sort": _compared(0),
    "@sortByAssociatedKeys": _compared(1),
}
"""Costs of calls by form or function; all others cost 1."""
