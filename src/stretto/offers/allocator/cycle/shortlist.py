"""Some roles in the order of the role sorter."""

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from stretto.offers.allocator.pool.members import RoleNode
from stretto.offers.allocator.sorting.sorter import ClientSorter

Place = tuple[tuple[Any, ...], str, RoleNode]
"""Position in the order, name, role."""


class Shortlist:
    """Roles that a stage evaluates; other roles cause no cost.

    The sorter's tree is walked in order of the keys on each path, so sorting the paths of the
    chosen roles gives the same order. A grant moves the role and the roles with the same top role.
    """

    def __init__(self, sorter: ClientSorter, roles: Iterable[RoleNode]) -> None:
        """Start with these roles; those that the sorter does not contain are omitted."""
        self._sorter = sorter
        self._chosen = {role.name: role for role in roles if role.name in sorter}
        self._places: dict[str, Place] = {}
        self._order: list[Place] = []
        self._families: dict[str, list[str]] = {}
        if not sorter.is_random:
            sorter.settle()
            for role in self._chosen.values():
                self._places[role.name] = (sorter.position(role.name), role.name, role)
                self._families.setdefault(role.name.partition("/")[0], []).append(role.name)
            self._order = sorted(self._places.values())

    def __bool__(self) -> bool:
        return bool(self._chosen)

    def __iter__(self) -> Iterator[RoleNode]:
        """The roles, the next one first; a grant takes effect in the next iteration."""
        if self._sorter.is_random:
            chosen = self._chosen
            return (role for role in self._sorter.order() if role.name in chosen)
        return (place[2] for place in list(self._order))

    def move(self, role: RoleNode, keeps: Callable[[RoleNode], bool]) -> None:
        """Move a role that received a grant to its new place; drop roles that ``keeps`` rejects."""
        if self._sorter.is_random:
            if role.name in self._chosen and not keeps(role):
                del self._chosen[role.name]
            return
        self._sorter.settle()
        top = role.name.partition("/")[0]
        kept = []
        for name in self._families.get(top, ()):
            place = self._places.pop(name)
            del self._order[bisect_left(self._order, place)]
            if keeps(place[2]):
                moved = self._places[name] = (self._sorter.position(name), name, place[2])
                insort(self._order, moved)
                kept.append(name)
            else:
                del self._chosen[name]
        self._families[top] = kept
