"""Resources in Mesos' order, with exact arithmetic.

A list is a sequence of items; two items of the same kind are merged. Addition merges into the first
equal item or appends. Subtraction that empties an item moves the last item into its place, as in
Mesos, so that lists keep Mesos' order. Scalars count thousandths.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Final, TypeAlias

import msgspec

from stretto.offers.allocator.values import ranges
from stretto.offers.allocator.values.ranges import Ranges
from stretto.offers.messages.schema import Message

MILLI: Final = 1000
"""Thousandths in a scalar of 1."""
KNOWN: Final = 4096
"""Size of the cache of kinds, which makes most equal kinds one object."""

Value: TypeAlias = int | Ranges | frozenset[str]
"""Thousandths of a scalar, ranges, or a set."""


class ItemKind(msgspec.Struct, frozen=True):
    """The kind of an item; two items of one kind differ in their amounts only."""

    #: The name, such as ``cpus``.
    name: str
    #: SCALAR, RANGES or SET.
    type: str = "SCALAR"
    #: The role that it is allocated to; ``None`` without an allocation.
    allocated: str | None = None
    #: The reservations, outermost first, as JSON with sorted keys.
    reservations: tuple[str, ...] = ()
    #: The DiskInfo as JSON with sorted keys; empty if there is none.
    disk: str = ""
    #: True if it can be revoked.
    revocable: bool = False
    #: True if it is a shared volume.
    shared: bool = False
    #: The resource provider; empty for the agent's own resources.
    provider: str = ""

    @property
    def role(self) -> str:
        """The role of the innermost reservation; ``*`` without a reservation."""
        if not self.reservations:
            return "*"
        role: str = msgspec.json.decode(self.reservations[-1])["role"]
        return role

    def allocated_to(self, role: str | None) -> "ItemKind":
        """The same kind, allocated to a role; ``None`` removes the allocation."""
        return _allocated(self, role)

    @property
    def dynamic(self) -> bool:
        """True if the innermost reservation is dynamic."""
        if not self.reservations:
            return False
        kind: str = msgspec.json.decode(self.reservations[-1]).get("type", "")
        return kind == "DYNAMIC"

    @property
    def disk_info(self) -> Message:
        """The DiskInfo; empty if there is none."""
        info: Message = msgspec.json.decode(self.disk) if self.disk else {}
        return info

    @property
    def persistent(self) -> bool:
        """True if it is a persistent volume."""
        return "persistence" in self.disk_info

    @property
    def whole(self) -> bool:
        """True if equal items are never merged: persistent volumes, MOUNT and BLOCK disks."""
        if not self.disk:
            return False
        info = self.disk_info
        return "persistence" in info or info.get("source", {}).get("type") in ("MOUNT", "BLOCK")


@lru_cache(KNOWN)
def _allocated(kind: ItemKind, role: str | None) -> ItemKind:
    return msgspec.structs.replace(kind, allocated=role)


class Item(msgspec.Struct, frozen=True):
    """An amount of one kind."""

    #: Its kind.
    kind: ItemKind
    #: The amount.
    value: Value

    @property
    def empty(self) -> bool:
        """True if the amount is zero."""
        return not self.value


class ResourceList(msgspec.Struct, frozen=True):
    """Items in Mesos' order; immutable."""

    #: The items.
    items: tuple[Item, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.items)

    def __iter__(self) -> Iterator[Item]:
        return iter(self.items)

    def __add__(self, other: "ResourceList") -> "ResourceList":
        """The sum: items of ``other`` are merged into equal ones or appended."""
        items = list(self.items)
        for item in other.items:
            if not item.empty:
                _add(items, item)
        return ResourceList(tuple(items))

    def __sub__(self, other: "ResourceList") -> "ResourceList":
        """The difference; items that ``self`` does not contain are ignored."""
        items = list(self.items)
        for item in other.items:
            if not item.empty:
                _subtract(items, item)
        return ResourceList(tuple(items))

    def contains(self, other: "ResourceList") -> bool:
        """True if every item of ``other`` can be removed from this list, one after the other."""
        items = list(self.items)
        return all(item.empty or _take(items, item) for item in other.items)

    def same(self, other: "ResourceList") -> bool:
        """True if both contain each other, in any order."""
        return self.contains(other) and other.contains(self)

    def where(self, keep: Callable[[ItemKind], bool]) -> "ResourceList":
        """The items whose kind passes, in order."""
        return ResourceList(tuple(item for item in self.items if keep(item.kind)))

    def with_kind(self, change: Callable[[ItemKind], ItemKind]) -> "ResourceList":
        """All items with changed kinds; items that become equal are merged."""
        return of(Item(change(item.kind), item.value) for item in self.items)

    def allocated(self, role: str | None) -> "ResourceList":
        """The same resources, allocated to a role; ``None`` removes the allocation."""
        return self.with_kind(lambda kind: kind.allocated_to(role))

    def unreserved(self) -> "ResourceList":
        """The same resources without reservations."""
        return self.with_kind(lambda kind: msgspec.structs.replace(kind, reservations=()))

    def scalars(self) -> dict[str, int]:
        """Sums of scalars by name, in thousandths."""
        sums: dict[str, int] = {}
        for item in self.items:
            if isinstance(item.value, int):
                sums[item.kind.name] = sums.get(item.kind.name, 0) + item.value
        return sums

    def quantities(self) -> dict[str, int]:
        """Sums by name in thousandths; ranges and sets count their members."""
        sums = self.scalars()
        for item in self.items:
            if not isinstance(item.value, int):
                count = size(item.value) * MILLI
                sums[item.kind.name] = sums.get(item.kind.name, 0) + count
        return sums


def of(items: Iterable[Item]) -> ResourceList:
    """A list of items; equal kinds are merged and empty items are dropped."""
    merged: list[Item] = []
    for item in items:
        if not item.empty:
            _add(merged, item)
    return ResourceList(tuple(merged))


def total(lists: Iterable[ResourceList]) -> ResourceList:
    """The sum of lists, in order."""
    return of(item for each in lists for item in each.items)


def size(value: Ranges | frozenset[str]) -> int:
    """Number of members of ranges or of a set."""
    if isinstance(value, frozenset):
        return len(value)
    return ranges.count(value)


def _add(items: list[Item], item: Item) -> None:
    if not item.kind.whole:
        for index, each in enumerate(items):
            if each.kind == item.kind:
                if not item.kind.shared:
                    items[index] = Item(each.kind, _plus(each.value, item.value))
                return
    items.append(item)


def _subtract(items: list[Item], item: Item) -> None:
    for index, each in enumerate(items):
        if each.kind == item.kind and (not each.kind.whole or each.value == item.value):
            left = Item(each.kind, _minus(each.value, item.value))
            if left.empty or (isinstance(left.value, int) and left.value < 0):
                items[index] = items[-1]
                items.pop()
            else:
                items[index] = left
            return


def _take(items: list[Item], item: Item) -> bool:
    """Remove an item from the items; false if they do not contain it."""
    for each in items:
        if each.kind == item.kind and _holds(each, item):
            if not each.kind.shared:
                _subtract(items, item)
            return True
    return False


def _holds(have: Item, want: Item) -> bool:
    if have.kind.whole:
        return have.value == want.value
    return _minus(want.value, have.value) in ((), frozenset()) or (
        isinstance(have.value, int) and isinstance(want.value, int) and have.value >= want.value
    )


def _plus(left: Value, right: Value) -> Value:
    if isinstance(left, int) and isinstance(right, int):
        return left + right
    if isinstance(left, frozenset) and isinstance(right, frozenset):
        return left | right
    return ranges.union(_ranges(left), _ranges(right))


def _minus(left: Value, right: Value) -> Value:
    if isinstance(left, int) and isinstance(right, int):
        return left - right
    if isinstance(left, frozenset) and isinstance(right, frozenset):
        return left - right
    return ranges.difference(_ranges(left), _ranges(right))


def _ranges(value: Value) -> Ranges:
    return () if isinstance(value, int | frozenset) else value
