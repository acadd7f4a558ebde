"""Estimates of calls: the cost without that of the arguments, and the size of the result.

The estimates are those of ``library/cost.go`` in kube-apiserver, of ``ext/lists.go`` and
``ext/sets.go`` in cel-go, and of ``checker/cost.go`` there.
"""

from collections.abc import Callable, Mapping, Sequence
from math import ceil
from typing import Final, NamedTuple

from stretto.cel.estimates.operands import Operand
from stretto.cel.estimates.ranges import MOST, NONE, ONE, Range, fixed
from stretto.cel.language.types import BYTES, STRING, parsed_type
from stretto.cel.running.budget import LIST_COST, STRUCT_COST, TRAVERSAL

PATTERN: Final = 0.25
_CHECK: Final = 350_000
_MOST_NAME_PATTERN: Final = 128
_MOST_FORMAT: Final = 64
_SELECTOR: Final = 0.5
_ADDRESS: Final = Range(4, 16)
_FORMAT: Final = parsed_type("kubernetes.NamedFormat")
_URL: Final = parsed_type("kubernetes.URL")


class CallEstimate(NamedTuple):
    """The cost of a call and the size of its result."""

    #: The cost without that of the arguments.
    cost: Range
    #: Size of the result; ``None`` if unknown.
    size: Range | None = None


_Parts = Sequence[Operand]
_Estimator = Callable[[str, Operand | None, _Parts], CallEstimate | None]


def estimated_call(
    name: str, form: str, target: Operand | None, arguments: _Parts
) -> CallEstimate | None:
    """Return the estimate of a call; ``None`` for functions of the language itself.

    Args:
        name: name of the function.
        form: identifier of the form.
        target: the receiver; ``None`` without.
        arguments: the arguments without the receiver.
    """
    estimator = _LISTS.get(form) or _ESTIMATORS.get(name)
    return None if estimator is None else estimator(form, target, arguments)


# ---------------------------------------------------------------- lists and sets


def _listed(factor: float, size: Range) -> CallEstimate:
    return CallEstimate(size.scaled(factor).plus(fixed(1 + LIST_COST)), size)


def _number(operand: Operand, default: int) -> int:
    return default if operand.literal is None else max(operand.literal, 0)


def _slice(_: str, target: Operand | None, arguments: _Parts) -> CallEstimate | None:
    if target is None:
        return None
    start, end = _number(arguments[0], 0), _number(arguments[1], target.size.high)
    return _listed(1, fixed((end - start) % (MOST + 1)))


def _range(_: str, __: Operand | None, arguments: _Parts) -> CallEstimate | None:
    return _listed(1, fixed(_number(arguments[0], MOST)))


def _reversed(_: str, target: Operand | None, __: _Parts) -> CallEstimate | None:
    return None if target is None else _listed(1, target.size)


def _flattened(_: str, target: Operand | None, arguments: _Parts) -> CallEstimate | None:
    depth = _number(arguments[0], MOST) if arguments else 1
    return None if target is None else _listed(float(depth), target.size)


def _distinct(_: str, target: Operand | None, __: _Parts) -> CallEstimate | None:
    return None if target is None else _listed(2, target.size.times(target.size))


def _sorted(form: str, target: Operand | None, arguments: _Parts) -> CallEstimate | None:
    keys = arguments[0] if arguments else target
    if keys is None:
        return None
    is_text = form.startswith(("list_string_", "list_bytes_"))
    return _listed(2 + TRAVERSAL * is_text, keys.size.times(keys.size))


def _set(factor: int) -> _Estimator:
    def estimate(_: str, __: Operand | None, arguments: _Parts) -> CallEstimate:
        product = arguments[0].size.times(arguments[1].size)
        return CallEstimate(product.scaled(factor).plus(ONE))

    return estimate


_COMPARABLE: Final = (
    *("int", "uint", "double", "bool", "string", "bytes"),
    *("google.protobuf.Duration", "google.protobuf.Timestamp"),
)
_LISTS: Final[Mapping[str, _Estimator]] = {
    "list_slice": _slice,
    "list_flatten": _flattened,
    "list_flatten_int": _flattened,
    "lists_range": _range,
    "list_reverse": _reversed,
    "list_distinct": _distinct,
    **{f"list_{kind}_sort": _sorted for kind in _COMPARABLE},
    **{f"list_{kind}_sortByAssociatedKeys": _sorted for kind in _COMPARABLE},
    "list_sets_contains_list": _set(1),
    "list_sets_intersects_list": _set(1),
    "list_sets_equivalent_list": _set(2),
}
"""Estimators of forms."""


# ---------------------------------------------------------------- functions of Kubernetes


def _constant(cost: int) -> _Estimator:
    estimate = CallEstimate(fixed(cost))
    return lambda _form, _target, _arguments: estimate


def _selector(_: str, __: Operand | None, arguments: _Parts) -> CallEstimate | None:
    size = arguments[0].size
    requirements = size.scaled(_SELECTOR).scaled(float(LIST_COST + STRUCT_COST))
    return CallEstimate(fixed(LIST_COST).plus(size.scaled(TRAVERSAL)).plus(requirements))


def _compared(_: str, target: Operand | None, __: _Parts) -> CallEstimate | None:
    if target is None:
        return None
    item = target.item
    if item is None:
        return CallEstimate(target.size.scaled(TRAVERSAL))
    cost = ONE.plus(item.size.scaled(TRAVERSAL)) if item.kind in (STRING, BYTES) else ONE
    return CallEstimate(target.size.times(cost))


def _argument(factor: float, *, keeps_size: bool = False) -> _Estimator:
    def estimate(_: str, __: Operand | None, arguments: _Parts) -> CallEstimate | None:
        if not arguments:
            return None
        size = arguments[0].size
        return CallEstimate(size.scaled(factor), size if keeps_size else None)

    return estimate


def _traversed(_: str, target: Operand | None, __: _Parts) -> CallEstimate | None:
    return None if target is None else CallEstimate(target.size.scaled(TRAVERSAL), target.size)


def _replaced(_: str, target: Operand | None, arguments: _Parts) -> CallEstimate | None:
    if target is None:
        return None
    size, old, new = target.size, arguments[0].size, arguments[1].size
    if old.low == 0:
        high, kept_high = min(size.high + 1, MOST), size.high
    elif new.high <= old.low:
        high, kept_high = 0, size.high
    else:
        high, kept_high = ceil(float(size.high) / float(old.low)), 0
    if old.high == 0:
        low, kept_low = min(size.low + 1, MOST), size.low
    elif old.high <= new.low:
        low, kept_low = 0, size.low
    else:
        low, kept_low = ceil(float(size.low) / float(old.high)), 0
    result = Range(low, min(high, MOST)).times(new).plus(Range(kept_low, kept_high))
    return CallEstimate(size.scaled(2 * TRAVERSAL), result)


def _split(_: str, target: Operand | None, arguments: _Parts) -> CallEstimate | None:
    if target is None:
        return None
    most = target.size.high
    if len(arguments) > 1 and arguments[1].literal is not None:
        most = arguments[1].literal % (MOST + 1)
    return CallEstimate(target.size.scaled(2 * TRAVERSAL), Range(0, most))


def _joined(_: str, target: Operand | None, arguments: _Parts) -> CallEstimate | None:
    if target is None:
        return None
    count, item = target.size, target.item
    size = NONE if item is None else count.times(item.size)
    if arguments:
        separators = Range(max(count.low - 1, 0), max(count.high - 1, 0))
        size = size.plus(arguments[0].size.times(separators))
    return CallEstimate(size.scaled(TRAVERSAL), size)


def _found(_: str, target: Operand | None, arguments: _Parts) -> CallEstimate | None:
    if target is None or not arguments:
        return None
    cost = pattern_cost(target, arguments[0])
    return CallEstimate(cost, Range(0, target.size.high))


def pattern_cost(text: Operand, pattern: Operand) -> Range:
    """Return the cost of the search for a pattern in a text."""
    return text.size.plus(ONE).scaled(TRAVERSAL).times(pattern.size.scaled(PATTERN))


def _address(form: str, target: Operand | None, arguments: _Parts) -> CallEstimate | None:
    if form == "cidr_ip":
        return CallEstimate(ONE)
    return _argument(TRAVERSAL)(form, target, arguments)


def _contained(form: str, _: Operand | None, arguments: _Parts) -> CallEstimate | None:
    cost = _ADDRESS.plus(_ADDRESS).scaled(TRAVERSAL)
    if form.startswith("cidr_contains_cidr"):
        cost = cost.plus(_ADDRESS.scaled(TRAVERSAL)).plus(ONE)
    if form.endswith("_string"):
        cost = cost.plus(arguments[0].size.scaled(TRAVERSAL))
    return CallEstimate(cost)


def _validated(_: str, __: Operand | None, arguments: _Parts) -> CallEstimate | None:
    text = arguments[0].size.scaled(TRAVERSAL)
    return CallEstimate(text.scaled(_MOST_NAME_PATTERN * PATTERN))


def _equal(_: str, __: Operand | None, arguments: _Parts) -> CallEstimate | None:
    one, two = arguments
    if one.kind != two.kind or not one.is_opaque or one.kind.parameters:
        return None
    if one.kind == _FORMAT:
        return CallEstimate(Range(1, _MOST_FORMAT).scaled(TRAVERSAL))
    if one.kind == _URL:
        most = 1 if two.computed is None else two.computed.high
        return CallEstimate(Range(1, most).scaled(TRAVERSAL))
    return CallEstimate(ONE) if one.kind.name in _SIMPLE else None


_SIMPLE: Final = frozenset(
    (
        *("net.IP", "net.CIDR", "kubernetes.Quantity", "kubernetes.Semver"),
        *(
            f"kubernetes.authorization.{name}"
            for name in ("Authorizer", "PathCheck", "GroupCheck", "ResourceCheck", "Decision")
        ),
    )
)
"""Types whose values have a fixed cost of a comparison."""
_CHEAP: Final = (
    *("serviceAccount", "path", "group", "resource", "subresource", "namespace", "name"),
    *("allowed", "reason", "error", "errored", "masked", "prefixLength", "family"),
    *("isUnspecified", "isLoopback", "isLinkLocalMulticast", "isLinkLocalUnicast"),
    *("isGlobalUnicast", "format.named", "sign", "asInteger", "isInteger"),
    *("asApproximateFloat", "isGreaterThan", "isLessThan", "compareTo", "add", "sub"),
    *("major", "minor", "patch", "getScheme", "getHostname", "getHost", "getPort"),
    *("getEscapedPath", "getQuery"),
)
"""Functions with a cost of 1."""
_ESTIMATORS: Final[Mapping[str, _Estimator]] = {
    "check": _constant(_CHECK),
    **dict.fromkeys(_CHEAP, _constant(1)),
    **dict.fromkeys(("fieldSelector", "labelSelector"), _selector),
    **dict.fromkeys(("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"), _compared),
    **dict.fromkeys(("url", "jsonpatch.escapeKey"), _argument(TRAVERSAL, keeps_size=True)),
    **dict.fromkeys(("lowerAscii", "upperAscii", "substring", "trim"), _traversed),
    "replace": _replaced,
    "split": _split,
    "join": _joined,
    **dict.fromkeys(("find", "findAll"), _found),
    **dict.fromkeys(
        ("cidr", "isIP", "isCIDR", "quantity", "isQuantity", "semver", "isSemver"),
        _argument(TRAVERSAL),
    ),
    "ip": _address,
    "ip.isCanonical": _argument(2 * TRAVERSAL),
    **dict.fromkeys(("containsIP", "containsCIDR"), _contained),
    "validate": _validated,
    "_==_": _equal,
}
"""Estimators of functions."""
