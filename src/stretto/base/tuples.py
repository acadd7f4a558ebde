"""Bulk creation of named tuples from columns, without a Python call per tuple."""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import TypeVar, cast

_T = TypeVar("_T", bound=tuple[object, ...])


def named_tuples(kind: type[_T], *columns: Iterable[object]) -> Iterator[_T]:
    """Yield named tuples of one type from one column per field, up to the shortest column.

    Every field needs a column: defaults are not filled in.
    """
    return cast("Iterator[_T]", map(partial(tuple.__new__, kind), zip(*columns, strict=False)))
