"""All implementations of functions by name; one implementation accepts all forms of a function."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from stretto.cel.functions import operators
from stretto.cel.functions.addresses import ADDRESSES
from stretto.cel.functions.amounts import AMOUNTS
from stretto.cel.functions.conversions import CONVERSIONS
from stretto.cel.functions.formats import FORMATS
from stretto.cel.functions.lists import LISTS
from stretto.cel.functions.rights import RIGHTS
from stretto.cel.functions.texts import TEXTS
from stretto.cel.functions.times import TIMES
from stretto.cel.functions.urls import URLS

IMPLEMENTATIONS: Final[Mapping[str, Callable[..., Any]]] = {
    "_+_": operators.add,
    "_-_": operators.subtract,
    "_*_": operators.multiply,
    "_/_": operators.divide,
    "_%_": operators.remainder,
    "-_": operators.negate,
    "!_": operators.inverted,
    "_<_": operators.comparison(lambda order: order < 0),
    "_<=_": operators.comparison(lambda order: order <= 0),
    "_>_": operators.comparison(lambda order: order > 0),
    "_>=_": operators.comparison(lambda order: order >= 0),
    "@in": operators.is_in,
    "cel.@mapInsert": operators.inserted,
    **CONVERSIONS,
    **TEXTS,
    **TIMES,
    **LISTS,
    **ADDRESSES,
    **AMOUNTS,
    **URLS,
    **FORMATS,
    **RIGHTS,
}
"""Functions by name."""
