"""Functions of lists, sets and optional values."""

from collections.abc import Mapping, Sequence
from functools import cmp_to_key
from itertools import pairwise
from typing import Any, Final

from stretto.cel.functions.conversions import is_zero
from stretto.cel.functions.operators import add
from stretto.cel.functions.texts import index_in, last_index_in
from stretto.cel.running.values import (
    CelOptional,
    EvaluationError,
    OverBudgetError,
    contains,
    equal,
    kind_of,
    order,
    type_name,
)

_END: Final = object()
"""Mark after the last item."""
_Items = Sequence[Any]
_MOST_ITEMS: Final = 1_000_000
"""Maximum items of a new range; the cost of a longer one exceeds every limit."""


def _index(items: Any, value: Any, *more: Any) -> int:
    if isinstance(items, str):
        return index_in(items, value, *more)
    return next((index for index, each in enumerate(items) if equal(each, value)), -1)


def _last_index(items: Any, value: Any, *more: Any) -> int:
    if isinstance(items, str):
        return last_index_in(items, value, *more)
    places = range(len(items) - 1, -1, -1)
    return next((index for index in places if equal(items[index], value)), -1)


def _extreme(sign: int, name: str, items: _Items) -> Any:
    if not items:
        raise EvaluationError(f"{name} called on empty list")
    found = items[0]
    for each in items[1:]:
        if order(each, found) * sign > 0:
            found = each
    return found


def _sum(items: _Items) -> Any:
    if not items:
        return 0
    found = items[0]
    for each in items[1:]:
        found = add(found, each)
    return found


def _slice(items: _Items, start: int, end: int) -> list[Any]:
    head = f"cannot slice({start}, {end}), "
    if start < 0 or end < 0:
        raise EvaluationError(f"{head}negative indexes not supported")
    if start > end:
        text = "start index must be less than or equal to end index"
        raise EvaluationError(head + text)
    if len(items) < end:
        raise EvaluationError(f"{head}list is length {len(items)}")
    return list(items[start:end])


def _flattened(items: _Items, depth: int = 1) -> list[Any]:
    if depth < 0:
        raise EvaluationError("level must be non-negative")
    found: list[Any] = []
    rest = [(iter(items), depth)]
    for _ in range(_MOST_ITEMS):
        if not rest:
            return found
        inner, levels = rest[-1]
        each = next(inner, _END)
        if each is _END:
            rest.pop()
        elif isinstance(each, list | tuple) and levels:
            rest.append((iter(each), levels - 1))
        else:
            found.append(each)
    raise OverBudgetError


def _sorted_by(items: _Items, keys: _Items) -> list[Any]:
    if any(kind_of(each) != kind_of(keys[0]) for each in keys):
        raise EvaluationError("list elements must have the same type")
    places = sorted(range(len(items)), key=lambda index: cmp_to_key(order)(keys[index]))
    return [items[index] for index in places]


def _distinct(items: _Items) -> list[Any]:
    found: list[Any] = []
    for each in items:
        if not contains(found, each):
            found.append(each)
    return found


def _range(count: int) -> list[int]:
    return list(range(min(count, _MOST_ITEMS)))


def _is_subset(items: _Items, wanted: _Items) -> bool:
    return all(contains(items, each) for each in wanted)


def _unwrapped(items: _Items) -> list[Any]:
    found: list[Any] = []
    for each in items:
        if not isinstance(each, CelOptional):
            raise EvaluationError(f"no such overload: {type_name(kind_of(each))}")
        found.extend(each.content)
    return found


LISTS: Final[Mapping[str, Any]] = {
    "indexOf": _index,
    "lastIndexOf": _last_index,
    "isSorted": lambda items: all(order(one, two) <= 0 for one, two in pairwise(items)),
    "max": lambda items: _extreme(1, "max", items),
    "min": lambda items: _extreme(-1, "min", items),
    "sum": _sum,
    "size": len,
    "slice": _slice,
    "flatten": _flattened,
    "sort": lambda items: _sorted_by(items, items),
    "@sortByAssociatedKeys": _sorted_by,
    "reverse": lambda items: list(reversed(items)),
    "distinct": _distinct,
    "first": lambda items: CelOptional(tuple(items[:1])),
    "last": lambda items: CelOptional(tuple(items[-1:])),
    "lists.range": _range,
    "sets.contains": _is_subset,
    "sets.equivalent": lambda one, two: _is_subset(one, two) and _is_subset(two, one),
    "sets.intersects": lambda one, two: any(contains(two, each) for each in one),
    "optional.none": CelOptional,
    "optional.of": lambda value: CelOptional((value,)),
    "optional.ofNonZeroValue": lambda value: (
        CelOptional() if is_zero(value) else CelOptional((value,))
    ),
    "optional.unwrap": _unwrapped,
    "unwrapOpt": _unwrapped,
    "hasValue": lambda value: bool(value.content),
    "value": lambda value: value.value,
}
"""Functions of lists, sets and optional values by name."""
