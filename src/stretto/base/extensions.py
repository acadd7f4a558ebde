"""A literal table that installed packages extend through an entry-point group.

A built-in entry needs no scan of installed packages. Any other name is looked up in the entry-point
group, and its package is imported only when the entry is used.
"""

from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import TypeVar

from stretto.base.errors import InputError, UnknownNameError
from stretto.base.registry import Registry

T = TypeVar("T")


class OpenRegistry(Registry[T]):
    """A table of built-in entries and of the entries of installed packages."""

    def __init__(self, kind: str, table: Mapping[str, T], group: str, of: type[T]) -> None:
        """Create the table.

        Args:
            kind: the term for an entry in messages, such as ``queue policy``.
            table: the built-in entries by name.
            group: the entry-point group of packages.
            of: the type of an entry.
        """
        super().__init__(kind, table)
        #: The entry-point group of packages.
        self.group = group
        self._of = of

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or name in self._installed()

    def get(self, name: str) -> T:
        """The entry of that name, built in or installed.

        Raises:
            UnknownNameError: there is no such entry; the error lists the nearest names.
            InputError: the package of the entry cannot be loaded, or offers another type.
        """
        if super().__contains__(name):
            return super().get(name)
        installed = self._installed()
        if name not in installed:
            raise UnknownNameError(self.kind, name, (*self.built_in(), *installed))
        where = f"{self.kind} {name}"
        try:
            found = installed[name].load()
        except Exception as error:  # an error of the package concerns only its own entry
            raise InputError(where, installed[name].value, f"a loadable entry ({error})") from error
        if not isinstance(found, self._of):
            expected = f"a {self._of.__module__}.{self._of.__qualname__}"
            raise InputError(where, installed[name].value, expected, f"see group {self.group}")
        return found

    def built_in(self) -> tuple[str, ...]:
        """The names of the literal table, in its order."""
        return super().names()

    def names(self) -> tuple[str, ...]:
        """All names: the literal table in its order, then installed entries."""
        return (*self.built_in(), *sorted(set(self._installed()) - set(self.built_in())))

    def _installed(self) -> dict[str, EntryPoint]:
        return {entry.name: entry for entry in entry_points(group=self.group)}
