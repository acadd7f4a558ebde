"""Many named tuples at once, from columns: without a call of Python for each."""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import TypeVar, cast

_T = TypeVar("_T", bound=tuple[object, ...])


def named_tuples(kind: type[_T], *columns: Iterable[object]) -> Iterator[_T]:
    """Named tuples of a kind from its fields by columns, as long as the shortest of them.

    Every field needs its column: defaults are not filled in.
    """
    return cast("Iterator[_T]", map(partial(tuple.__new__, kind), zip(*columns, strict=False)))
