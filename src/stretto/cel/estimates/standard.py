"""Estimates of the functions and operators of the language, as ``checker/cost.go`` in cel-go."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from stretto.cel.estimates.calls import CallEstimate, pattern_cost
from stretto.cel.estimates.operands import Operand
from stretto.cel.estimates.ranges import MOST, ONE, Range
from stretto.cel.running.budget import TRAVERSAL

_Parts = Sequence[Operand]


def standard_call(
    form: str, target: Operand | None, arguments: _Parts, costs: Sequence[Range]
) -> CallEstimate:
    """Return the estimate of a call.

    Args:
        form: identifier of the form.
        target: the receiver; ``None`` without.
        arguments: the arguments without the receiver.
        costs: costs of the arguments, which only those of the logical operators and of the
            condition contain.
    """
    if form in ("logical_and", "logical_or"):
        left, right = costs
        return CallEstimate(Range(left.low, left.plus(right).high))
    if form == "conditional":
        condition, yes, no = costs
        size = arguments[1].computed_size.union(arguments[2].computed_size)
        return CallEstimate(condition.plus(yes.union(no)), size)
    estimator = _FORMS.get(form)
    return CallEstimate(ONE) if estimator is None else estimator(target, arguments)


def _format(target: Operand | None, arguments: _Parts) -> CallEstimate:
    part = target or arguments[0]
    return CallEstimate(part.computed_size.scaled(TRAVERSAL))


def _argument(low: Callable[[int], int], high: Callable[[int], int]) -> "_Estimator":
    def estimate(_: Operand | None, arguments: _Parts) -> CallEstimate:
        size = arguments[0].computed_size
        result = Range(low(size.low), high(size.high) % (MOST + 1))
        return CallEstimate(size.scaled(TRAVERSAL), result)

    return estimate


def _affix(_: Operand | None, arguments: _Parts) -> CallEstimate:
    return CallEstimate(arguments[0].computed_size.scaled(TRAVERSAL))


def _in_list(_: Operand | None, arguments: _Parts) -> CallEstimate:
    return CallEstimate(arguments[1].computed_size)


def _matches(target: Operand | None, arguments: _Parts) -> CallEstimate:
    if target is None:
        return CallEstimate(ONE)
    return CallEstimate(pattern_cost(target, arguments[0]))


def _contains(target: Operand | None, arguments: _Parts) -> CallEstimate:
    if target is None:
        return CallEstimate(ONE)
    part = arguments[0].computed_size.scaled(TRAVERSAL)
    return CallEstimate(target.computed_size.scaled(TRAVERSAL).times(part))


def _added(_: Operand | None, arguments: _Parts) -> CallEstimate:
    size = arguments[0].computed_size.plus(arguments[1].computed_size)
    return CallEstimate(size.scaled(TRAVERSAL), size)


def _added_list(_: Operand | None, arguments: _Parts) -> CallEstimate:
    size = arguments[0].computed_size.plus(arguments[1].computed_size)
    return CallEstimate(ONE, size)


def _compared(_: Operand | None, arguments: _Parts) -> CallEstimate:
    most = min(arguments[0].computed_size.high, arguments[1].computed_size.high)
    return CallEstimate(Range(int(most > 0), most).scaled(TRAVERSAL))


_Estimator = Callable[[Operand | None, _Parts], CallEstimate]
_FORMS: Final[Mapping[str, _Estimator]] = {
    "string_format": _format,
    "string_to_bytes": _argument(lambda low: low, lambda high: high * 4),
    "bytes_to_string": _argument(lambda low: low // 4, lambda high: high),
    "strings_quote": _argument(lambda low: low + 2, lambda high: high * 2 + 2),
    "starts_with_string": _affix,
    "ends_with_string": _affix,
    "in_list": _in_list,
    "matches_string": _matches,
    "contains_string": _contains,
    "add_string": _added,
    "add_bytes": _added,
    "add_list": _added_list,
    "equals": _compared,
    "not_equals": _compared,
    **{
        f"{name}_{kind}": _compared
        for name in ("less", "greater", "less_equals", "greater_equals")
        for kind in ("string", "bytes")
    },
}
"""Estimators by form; all other forms cost 1."""
