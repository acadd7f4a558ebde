"""Names to things, as one literal table: no registration by import, no doubles.

What a user may name (a plugin, a policy, a tie rule, a store) is a dictionary that can be read
in one place. A name that is not in it is answered with the nearest that is.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Generic, TypeVar

from stretto.base.errors import UnknownNameError

T = TypeVar("T")


class Registry(Generic[T]):
    """An immutable table of named things of one kind."""

    def __init__(self, kind: str, table: Mapping[str, T]) -> None:
        #: What its things are called in messages: "plugin", "policy", ...
        self.kind = kind
        self._table = MappingProxyType(dict(table))

    def __contains__(self, name: object) -> bool:
        return name in self._table

    def __iter__(self) -> Iterator[str]:
        return iter(self._table)

    def __len__(self) -> int:
        return len(self._table)

    def get(self, name: str) -> T:
        """The thing of that name.

        Raises:
            UnknownNameError: there is none; the error names the nearest.
        """
        try:
            return self._table[name]
        except KeyError:
            raise UnknownNameError(self.kind, name, self._table) from None

    def names(self) -> tuple[str, ...]:
        """All names, in the order of the table."""
        return tuple(self._table)

    def items(self) -> tuple[tuple[str, T], ...]:
        """All names with their things, in the order of the table."""
        return tuple(self._table.items())

    def merged(self, more: Mapping[str, T]) -> "Registry[T]":
        """This table and another one: how plugins from outside come in.

        Raises:
            ValueError: a name is in both; nobody silently replaces another's.
        """
        doubles = sorted(set(self._table) & set(more))
        if doubles:
            raise ValueError(f"{self.kind} named twice: {', '.join(doubles)}")
        return Registry(self.kind, {**self._table, **more})
