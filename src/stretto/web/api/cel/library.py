"""Functions of Kubernetes in CEL: strings, lists, addresses, URLs, quantities."""

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


_FREE: Final[dict[str, Callable[..., Any]]] = {
    "isIP": _is_ip,
    "isCIDR": _is_cidr,
    "isURL": _is_url,
    "url": _url,
    "isQuantity": _is_quantity,
    "quantity": _quantity,
}
_MEMBERS: Final[dict[str, tuple[tuple[Any, ...], Callable[..., Any]]]] = {
    "getScheme": ((_MAP,), lambda url: url["scheme"]),
    "getHost": ((_MAP,), lambda url: url["host"]),
    "getHostname": ((_MAP,), lambda url: url["hostname"]),
    "getPort": ((_MAP,), lambda url: url["port"]),
    "getEscapedPath": ((_MAP,), lambda url: url["path"]),
    "isGreaterThan": ((_MAP, _MAP), lambda one, two: _order(one, two) > 0),
    "isLessThan": ((_MAP, _MAP), lambda one, two: _order(one, two) < 0),
    "compareTo": ((_MAP, _MAP), _order),
    "lowerAscii": ((_TEXT,), lambda text: text.lower()),
    "upperAscii": ((_TEXT,), lambda text: text.upper()),
    "trim": ((_TEXT,), lambda text: text.strip()),
    "split": ((_TEXT, _TEXT), lambda text, by: text.split(by)),
    "replace": ((_TEXT, _TEXT, _TEXT), lambda text, old, new: text.replace(old, new)),
    "indexOf": ((_TEXT, _TEXT), lambda text, part: text.find(part)),
    "find": ((_TEXT, _TEXT), _find),
    "sum": ((_LIST,), _sum),
    "min": ((_LIST,), min),
    "max": ((_LIST,), max),
    "isSorted": ((_LIST,), _sorted),
}


def declarations() -> list[Any]:
    """The functions as declarations of an environment."""
    found = [
        cel.FunctionDecl(name, [cel.Overload(f"{name}_text", _ANY, [_TEXT], False, impl)])
        for name, impl in _FREE.items()
    ]
    for name, (kinds, impl) in _MEMBERS.items():
        overload = cel.Overload(f"{name}_of", _ANY, list(kinds), True, impl)
        found.append(cel.FunctionDecl(name, [overload]))
    join = [
        cel.Overload("join_plain", _ANY, [_LIST], True, "".join),
        cel.Overload("join_by", _ANY, [_LIST, _TEXT], True, lambda items, by: by.join(items)),
    ]
    part = [
        cel.Overload("substring_from", _ANY, [_TEXT, _WHOLE], True, lambda text, at: text[at:]),
        cel.Overload(
            "substring_to",
            _ANY,
            [_TEXT, _WHOLE, _WHOLE],
            True,
            lambda text, at, end: text[at:end],
        ),
    ]
    return [*found, cel.FunctionDecl("join", join), cel.FunctionDecl("substring", part)]
