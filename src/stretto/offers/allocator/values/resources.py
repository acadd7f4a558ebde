"""Sums of resources: immutable, exact, with the filters that offers need."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, TypeAlias, cast

from stretto.base.amounts import covers
from stretto.offers.allocator.values import ranges
from stretto.offers.allocator.values.kinds import ResourceIdentity, ResourceKind, kind_of
from stretto.offers.allocator.values.ranges import Ranges
from stretto.offers.allocator.values.scalars import Quantities

ResourceValue: TypeAlias = int | Ranges | frozenset[str]
"""Thousandths of a scalar, copies of an indivisible item, ranges, or a set of names."""

Entry: TypeAlias = tuple[ResourceKind, ResourceValue]
"""One resource."""


class Resources:
    """An immutable sum of resources, one value per kind.

    Indivisible items (volumes, mounted disks) are counted: an item is present or absent as a whole.
    A shared item may be counted several times, but its amount counts once.
    """

    __slots__ = ("_free", "_has_shared", "_hash", "_judged", "_plain", "_quantities", "entries")

    def __init__(self, entries: Mapping[ResourceKind, ResourceValue]) -> None:
        """Store normalized entries without empty values; use `resources_of` for other input."""
        #: Values by kind; never changed.
        self.entries: Final = entries
        self._hash: int | None = None
        self._quantities: tuple[tuple[str, int], ...] | None = None
        self._free: tuple[tuple[str, int], ...] | None = None
        self._plain: bool | None = None
        self._has_shared: bool | None = None
        self._judged: tuple[object, bool] = (None, False)

    # ------------------------------------------------------------ reading

    def __bool__(self) -> bool:
        return bool(self.entries)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries.items())

    def __len__(self) -> int:
        return len(self.entries)

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Resources) and self.entries == other.entries)

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self.entries.items()))
        return self._hash

    def __repr__(self) -> str:
        return "Resources({})".format(
            ", ".join(f"{kind.name}={value}" for kind, value in self.entries.items())
        )

    def value(self, kind: ResourceKind) -> ResourceValue | None:
        """The value of a kind, or ``None``."""
        return self.entries.get(kind)

    @property
    def quantities(self) -> tuple[tuple[str, int], ...]:
        """Thousandths of all scalars by name, including reserved and revocable ones."""
        if self._quantities is None:
            self._quantities = _sum(self.entries.items())
        return self._quantities

    @property
    def free(self) -> tuple[tuple[str, int], ...]:
        """Thousandths of the unreserved, non-revocable scalars by name, which quota counts."""
        if self._free is None:
            if self.is_plain:
                self._free = self.quantities
            else:
                self._free = _sum(each for each in self.entries.items() if each[0].is_free)
        return self._free

    @property
    def is_plain(self) -> bool:
        """True if nothing is reserved, revocable or shared: every framework may receive it."""
        if self._plain is None:
            self._plain = all(kind.is_free and not kind.shared for kind in self.entries)
        return self._plain

    @property
    def has_shared(self) -> bool:
        """True if an item is shared."""
        if self._has_shared is None:
            self._has_shared = not self.is_plain and any(kind.shared for kind in self.entries)
        return self._has_shared

    def meets(self, alternatives: tuple[Quantities, ...]) -> bool:
        """True if the amounts cover one of the alternatives; without alternatives always true."""
        by, answer = self._judged
        if by is not alternatives:
            amounts = dict(self.quantities)
            answer = not alternatives or any(covers(amounts, each) for each in alternatives)
            self._judged = (alternatives, answer)
        return answer

    def contains(self, part: "Resources") -> bool:
        """True if every amount of ``part`` is in this sum."""
        if self is part:
            return True
        mine = self.entries
        for kind, value in part.entries.items():
            held = mine.get(kind)
            if held is None or (held is not value and not _holds(held, value)):
                return False
        return True

    # ------------------------------------------------------------ arithmetic

    def __add__(self, other: "Resources") -> "Resources":
        if not other.entries:
            return self
        if not self.entries:
            return other
        added = dict(self.entries)
        for kind, value in other.entries.items():
            held = added.get(kind)
            added[kind] = value if held is None else _plus(held, value)
        return Resources(added)

    def __sub__(self, other: "Resources") -> "Resources":
        """The rest after a removal; absent amounts are ignored."""
        if self is other:
            return NOTHING
        if not other.entries or not self.entries:
            return self
        left = dict(self.entries)
        for kind, value in other.entries.items():
            held = left.get(kind)
            if held is None:
                continue
            rest = _minus(held, value)
            if rest:
                left[kind] = rest
            else:
                del left[kind]
        return Resources(left) if left else NOTHING

    # ------------------------------------------------------------ selection

    def where(self, keeps: Callable[[ResourceKind], bool]) -> "Resources":
        """The entries whose kind passes; the object itself if all pass."""
        kept = {kind: value for kind, value in self.entries.items() if keeps(kind)}
        if len(kept) == len(self.entries):
            return self
        return Resources(kept) if kept else NOTHING

    def allocatable_to(self, role: str) -> "Resources":
        """Unreserved resources, and those reserved to the role or to an ancestor of it."""
        if self.is_plain:
            return self
        return self.where(lambda kind: reaches(kind.reserved_to, role))

    def reserved_to(self, role: str) -> "Resources":
        """Resources that are reserved to exactly this role."""
        return self.where(lambda kind: kind.reserved_to == role)

    @property
    def unreserved(self) -> "Resources":
        """Resources without a reservation."""
        return self if self.is_plain else self.where(lambda kind: not kind.reserved_to)

    @property
    def reserved(self) -> "Resources":
        """Resources with a reservation."""
        return NOTHING if self.is_plain else self.where(lambda kind: bool(kind.reserved_to))

    @property
    def revocable(self) -> "Resources":
        """Resources that the agent may revoke."""
        return NOTHING if self.is_plain else self.where(lambda kind: kind.revocable)

    @property
    def shared(self) -> "Resources":
        """Items that several tasks may use at once."""
        return NOTHING if self.is_plain else self.where(lambda kind: kind.shared)

    def split(self, splits: Callable[[Entry], bool]) -> "tuple[Resources, Resources]":
        """The entries for which ``splits`` is true, and the others."""
        chosen = {kind: value for kind, value in self.entries.items() if splits((kind, value))}
        others = {kind: value for kind, value in self.entries.items() if kind not in chosen}
        return Resources(chosen), Resources(others)


NOTHING: Final = Resources({})
"""No resources."""


def resources_of(items: Iterable[tuple[ResourceIdentity, ResourceValue]]) -> Resources:
    """A sum of items in any order; equal kinds are added and empty values are dropped."""
    return sum_of((kind_of(identity), value) for identity, value in items)


def sum_of(items: Iterable[Entry]) -> Resources:
    """A sum of entries in any order; equal kinds are added and empty values are dropped."""
    entries: dict[ResourceKind, ResourceValue] = {}
    for kind, value in items:
        if value:
            held = entries.get(kind)
            entries[kind] = value if held is None else _plus(held, value)
    return Resources(entries) if entries else NOTHING


def scalars(**amounts: int) -> Resources:
    """Unreserved scalars in thousandths: ``scalars(cpus=1500)`` is 1.5 CPUs."""
    return resources_of((ResourceIdentity(name), amount) for name, amount in amounts.items())


def is_scalar(entry: Entry) -> bool:
    """True if the value of an entry is an amount or a number of indivisible items."""
    return isinstance(entry[1], int)


def reaches(reserved_to: str, role: str) -> bool:
    """True if a reservation to the role itself, or to its ancestor, may be offered to a role."""
    return not reserved_to or reserved_to == role or role.startswith(reserved_to + "/")


def _sum(entries: Iterable[Entry]) -> tuple[tuple[str, int], ...]:
    amounts: dict[str, int] = {}
    for kind, value in entries:
        if isinstance(value, int):
            amounts[kind.name] = amounts.get(kind.name, 0) + amount_of(kind, value)
    return tuple(amounts.items())


def amount_of(kind: ResourceKind, value: int) -> int:
    """Thousandths of a scalar entry."""
    if not kind.whole:
        return value
    return kind.whole if kind.shared else kind.whole * value


def _holds(held: ResourceValue, value: ResourceValue) -> bool:
    if isinstance(value, int):
        return cast("int", held) >= value
    if isinstance(value, frozenset):
        return value <= cast("frozenset[str]", held)
    return ranges.contains(cast("Ranges", held), value)


def _plus(held: ResourceValue, value: ResourceValue) -> ResourceValue:
    if isinstance(value, int):
        return cast("int", held) + value
    if isinstance(value, frozenset):
        return cast("frozenset[str]", held) | value
    return ranges.union(cast("Ranges", held), value)


def _minus(held: ResourceValue, value: ResourceValue) -> ResourceValue:
    if isinstance(value, int):
        return max(0, cast("int", held) - value)
    if isinstance(value, frozenset):
        return cast("frozenset[str]", held) - value
    return ranges.difference(cast("Ranges", held), value)
