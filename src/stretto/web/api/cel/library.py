"""Functions of Kubernetes in CEL: lists, sets, URLs, patterns, and those of special values."""

import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec
from cel_expr_python import cel

from stretto.web.api.cel import values
from stretto.web.api.cel.functions import free_function, member_function

_ANY: Final = cel.Type.DYN
_TEXT: Final = cel.Type.STRING
_LIST: Final = cel.Type.LIST
_MAP: Final = cel.Type.MAP
_WHOLE: Final = cel.Type.INT
_YES: Final = cel.Type.BOOL
_MOST_ITEMS: Final = 10_000
"""Most items of a list that a function creates."""


def _is_url(text: Any) -> bool:
    try:
        found = urlsplit(str(text))
    except ValueError:
        return False
    return bool(found.scheme) or str(text).startswith("/")


def _url(text: Any) -> dict[str, str]:
    if not _is_url(text):
        raise ValueError(f"URL parse error during conversion from string: {text}")
    found = urlsplit(str(text))
    return {
        "scheme": found.scheme,
        "host": found.netloc.rpartition("@")[2],
        "hostname": found.hostname or "",
        "port": str(found.port or ""),
        "path": found.path,
    }


def _sum(items: Any) -> Any:
    return sum(items)


def _sorted(items: Any) -> bool:
    found = list(items)
    return all(one <= two for one, two in pairwise(found))


def _slice(items: Any, start: int, end: int) -> list[Any]:
    found = list(items)
    if not 0 <= start <= end <= len(found):
        raise ValueError(f"cannot slice({start}, {end}), list is length {len(found)}")
    return found[start:end]


def _distinct(items: Any) -> list[Any]:
    found: dict[bytes, Any] = {}
    for each in items:
        found.setdefault(msgspec.json.encode(each, order="deterministic"), each)
    return list(found.values())


def _range(count: int) -> list[int]:
    if count > _MOST_ITEMS:
        raise ValueError(f"cannot make a list of {count} items, limit is {_MOST_ITEMS}")
    return list(range(count))


def _find(text: Any, pattern: Any) -> str:
    match = re.search(str(pattern), str(text))
    return match[0] if match else ""


def _is_subset(items: Any, wanted: Any) -> bool:
    known = list(items)
    return all(each in known for each in wanted)


def _are_equivalent(one: Any, two: Any) -> bool:
    return _is_subset(one, two) and _is_subset(two, one)


def _intersect(one: Any, two: Any) -> bool:
    known = list(two)
    return any(each in known for each in one)


def _escaped(key: Any) -> str:
    return str(key).replace("~", "~0").replace("/", "~1")


def _find_all(text: Any, pattern: Any) -> list[str]:
    return [match[0] for match in re.finditer(str(pattern), str(text))]


_FREE: Final[dict[str, tuple[Any, Callable[..., Any]]]] = {
    "isIP": (_YES, values.is_ip),
    "ip.isCanonical": (_YES, values.is_canonical),
    "isCIDR": (_YES, values.is_cidr),
    "cidr": (_ANY, values.parse_cidr),
    "isURL": (_YES, _is_url),
    "url": (_ANY, _url),
    "isQuantity": (_YES, values.is_quantity),
    "quantity": (_ANY, values.parse_quantity),
}
"""Functions with one text argument: type of the result, and implementation."""
_ESCAPED: Final = "jsonpatch.escapeKey"
"""Function that escapes a key for use in a JSON pointer."""
_SETS: Final[dict[str, Callable[..., Any]]] = {
    "sets.contains": _is_subset,
    "sets.equivalent": _are_equivalent,
    "sets.intersects": _intersect,
}
"""Functions with two list arguments."""
_MEMBERS: Final[dict[str, tuple[tuple[Any, ...], Any, Callable[..., Any]]]] = {
    "getScheme": ((_MAP,), _TEXT, lambda url: url["scheme"]),
    "getHost": ((_MAP,), _TEXT, lambda url: url["host"]),
    "getHostname": ((_MAP,), _TEXT, lambda url: url["hostname"]),
    "getPort": ((_MAP,), _TEXT, lambda url: url["port"]),
    "getEscapedPath": ((_MAP,), _TEXT, lambda url: url["path"]),
    "isGreaterThan": ((_MAP, _MAP), _YES, lambda one, two: values.order(one, two) > 0),
    "isLessThan": ((_MAP, _MAP), _YES, lambda one, two: values.order(one, two) < 0),
    "compareTo": ((_MAP, _MAP), _WHOLE, values.order),
    "sign": ((_MAP,), _WHOLE, values.sign),
    "isInteger": ((_MAP,), _YES, values.is_integer),
    "asInteger": ((_MAP,), _WHOLE, values.as_integer),
    "asApproximateFloat": ((_MAP,), cel.Type.DOUBLE, values.as_float),
    "major": ((_MAP,), _WHOLE, values.number_of(0)),
    "minor": ((_MAP,), _WHOLE, values.number_of(1)),
    "patch": ((_MAP,), _WHOLE, values.number_of(2)),
    **{name: ((_MAP,), _ANY, impl) for name, impl in values.ADDRESS_FUNCTIONS.items()},
    "slice": ((_LIST, _WHOLE, _WHOLE), _LIST, _slice),
    "sort": ((_LIST,), _LIST, sorted),
    "distinct": ((_LIST,), _LIST, _distinct),
    "find": ((_TEXT, _TEXT), _TEXT, _find),
    "findAll": ((_TEXT, _TEXT), _LIST, _find_all),
    "sum": ((_LIST,), _ANY, _sum),
    "min": ((_LIST,), _ANY, min),
    "max": ((_LIST,), _ANY, max),
    "isSorted": ((_LIST,), _YES, _sorted),
}
"""Functions with a receiver: types of the arguments, type of the result, implementation."""


_PAIR: Final = ((_MAP, _TEXT), (_MAP, _MAP))
"""Arguments of a function of a network and an address or a network, as text or as value."""
_AMOUNTS: Final = ((_MAP, _MAP), (_MAP, _WHOLE))
"""Arguments of a function of an amount and an amount or a whole number."""
_VERSION: Final = ((_TEXT,), (_TEXT, _YES))
"""Arguments of a function of the text of a version, and of whether it is normalized."""


def declarations() -> list[Any]:
    """Return the functions as declarations of an environment."""
    addresses = [
        cel.Overload("ip_text", _ANY, [_TEXT], False, values.parse_ip),
        cel.Overload("ip_of_cidr", _ANY, [_MAP], True, values.ip_of),
    ]
    return [
        *(free_function(name, result, impl, (_TEXT,)) for name, (result, impl) in _FREE.items()),
        *(free_function(name, _YES, impl, (_LIST, _LIST)) for name, impl in _SETS.items()),
        *(
            member_function(name, result, impl, kinds)
            for name, (kinds, result, impl) in _MEMBERS.items()
        ),
        free_function(_ESCAPED, _TEXT, _escaped, (_TEXT,)),
        free_function("lists.range", _LIST, _range, (_WHOLE,)),
        free_function("semver", _ANY, values.parse_semver, *_VERSION),
        free_function("isSemver", _YES, values.is_semver, *_VERSION),
        member_function("containsIP", _YES, values.contains_ip, *_PAIR),
        member_function("containsCIDR", _YES, values.contains_cidr, *_PAIR),
        member_function("add", _ANY, values.added, *_AMOUNTS),
        member_function("sub", _ANY, values.subtracted, *_AMOUNTS),
        cel.FunctionDecl("ip", addresses),
    ]
