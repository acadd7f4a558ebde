"""Lookup of names in one literal table: no registration at import, no duplicates.

Everything that a user can name (a plugin, a policy, a tie rule, a store) is an entry of a
dictionary in one place. The error for an unknown name suggests the nearest known name.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Generic, TypeVar

from stretto.base.errors import UnknownNameError

T = TypeVar("T")


class Registry(Generic[T]):
    """An immutable table of named objects of one category."""

    def __init__(self, kind: str, table: Mapping[str, T]) -> None:
        #: Name of the category in messages: "plugin", "policy", ...
        self.kind = kind
        self._table = MappingProxyType(dict(table))

    def __contains__(self, name: object) -> bool:
        return name in self._table

    def __iter__(self) -> Iterator[str]:
        return iter(self._table)

    def __len__(self) -> int:
        return len(self._table)

    def get(self, name: str) -> T:
        """The object with this name.

        Raises:
            UnknownNameError: no such name; the error suggests the nearest.
        """
        try:
            return self._table[name]
        except KeyError:
            raise UnknownNameError(self.kind, name, self._table) from None

    def names(self) -> tuple[str, ...]:
        """All names, in the order of the table."""
        return tuple(self._table)

    def items(self) -> tuple[tuple[str, T], ...]:
        """All names with their objects, in the order of the table."""
        return tuple(self._table.items())

    def merged(self, more: Mapping[str, T]) -> "Registry[T]":
        """Return this table plus another one, for example that of third-party plugins.

        Raises:
            ValueError: a name is in both tables; no entry is replaced silently.
        """
        doubles = sorted(set(self._table) & set(more))
        if doubles:
            raise ValueError(f"{self.kind} named twice: {', '.join(doubles)}")
        return Registry(self.kind, {**self._table, **more})
