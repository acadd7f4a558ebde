"""Functions of Kubernetes in CEL: lists, sets, addresses, URLs, quantities, patterns."""

import ipaddress
import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any, Final
from urllib.parse import urlsplit

from cel_expr_python import cel

from stretto.api.wire.quantity import nano
from stretto.base.errors import InputError

_ANY: Final = cel.Type.DYN
_TEXT: Final = cel.Type.STRING
_LIST: Final = cel.Type.LIST
_MAP: Final = cel.Type.MAP
_WHOLE: Final = cel.Type.INT
_YES: Final = cel.Type.BOOL


def _is_ip(text: Any) -> bool:
    try:
        ipaddress.ip_address(str(text))
    except ValueError:
        return False
    return True


def _is_cidr(text: Any) -> bool:
    try:
        ipaddress.ip_network(str(text), strict=False)
    except ValueError:
        return False
    return "/" in str(text)


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


def _is_quantity(text: Any) -> bool:
    try:
        nano(str(text), "quantity")
    except InputError:
        return False
    return True


def _quantity(text: Any) -> dict[str, Any]:
    return {"quantity": str(text), "nano": str(nano(str(text), "quantity"))}


def _order(one: Any, two: Any) -> int:
    first, second = int(one["nano"]), int(two["nano"])
    return (first > second) - (first < second)


def _sum(items: Any) -> Any:
    return sum(items)


def _sorted(items: Any) -> bool:
    found = list(items)
    return all(one <= two for one, two in pairwise(found))


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
    "isIP": (_YES, _is_ip),
    "isCIDR": (_YES, _is_cidr),
    "isURL": (_YES, _is_url),
    "url": (_ANY, _url),
    "isQuantity": (_YES, _is_quantity),
    "quantity": (_ANY, _quantity),
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
    "isGreaterThan": ((_MAP, _MAP), _YES, lambda one, two: _order(one, two) > 0),
    "isLessThan": ((_MAP, _MAP), _YES, lambda one, two: _order(one, two) < 0),
    "compareTo": ((_MAP, _MAP), _WHOLE, _order),
    "find": ((_TEXT, _TEXT), _TEXT, _find),
    "findAll": ((_TEXT, _TEXT), _LIST, _find_all),
    "sum": ((_LIST,), _ANY, _sum),
    "min": ((_LIST,), _ANY, min),
    "max": ((_LIST,), _ANY, max),
    "isSorted": ((_LIST,), _YES, _sorted),
}
"""Functions with a receiver: types of the arguments, type of the result, implementation."""


def declarations() -> list[Any]:
    """Return the functions as declarations of an environment."""
    found = [
        cel.FunctionDecl(name, [cel.Overload(f"{name}_text", kind, [_TEXT], False, impl)])
        for name, (kind, impl) in _FREE.items()
    ]
    escape = cel.Overload("escape_key", _TEXT, [_TEXT], False, _escaped)
    found.append(cel.FunctionDecl(_ESCAPED, [escape]))
    found += [
        cel.FunctionDecl(name, [cel.Overload(f"{name}_lists", _YES, [_LIST, _LIST], False, impl)])
        for name, impl in _SETS.items()
    ]
    for name, (kinds, result, impl) in _MEMBERS.items():
        overload = cel.Overload(f"{name}_of", result, list(kinds), True, impl)
        found.append(cel.FunctionDecl(name, [overload]))
    return found
