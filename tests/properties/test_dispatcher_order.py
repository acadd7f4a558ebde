"""Waking only units with a chance places exactly what trying all units in order would place."""

from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from stretto.control.queues.config import QueueConfig
from stretto.state.rows.lifecycle import UnitState
from stretto.state.work.units import Cure, Dispatch
from tests.unit.control.dispatcher.fake_cluster import Desk

Sizes = tuple[int, ...]
"""The requests of the pods of a unit; the size is the class too."""

UNITS = st.one_of(
    st.tuples(st.integers(1, 3)),
    st.integers(1, 3).flatmap(lambda size: st.integers(2, 4).map(lambda n: (size,) * n)),
    st.lists(st.integers(1, 3), min_size=2, max_size=4).map(tuple),
)
STEPS = st.lists(st.one_of(UNITS, st.integers(0, 9)), max_size=25)
"""A new unit, or the number of a deleted pod."""


@dataclass
class Machines:
    """Nodes with one resource, filled first fit."""

    free: list[int]
    places: dict[str, tuple[int, int]] = field(default_factory=dict)

    def place(self, names: list[str], sizes: Sizes) -> int | None:
        """Place all or none; returns the size of the first that does not fit."""
        before = list(self.free)
        found = {}
        for name, size in zip(names, sizes, strict=True):
            node = next((n for n, free in enumerate(self.free) if free >= size), None)
            if node is None:
                self.free = before
                return size
            self.free[node] -= size
            found[name] = (node, size)
        self.places.update(found)
        return None

    def leave(self, name: str) -> None:
        node, size = self.places.pop(name)
        self.free[node] += size

    def capacity(self, size: int) -> int:
        return sum(free // size for free in self.free)


class PlainQueue:
    """The yardstick: after each change all that wait are tried in order."""

    def __init__(self, free: list[int]) -> None:
        self.machines, self.waiting = Machines(list(free)), list[tuple[list[str], Sizes]]()

    def settle(self) -> None:
        self.waiting = [
            (names, sizes)
            for names, sizes in self.waiting
            if self.machines.place(names, sizes) is not None
        ]


class Few:
    """The dispatcher, with a shard that does what the yardstick does."""

    def __init__(self, free: list[int]) -> None:
        self.machines = Machines(list(free))
        self.desk = Desk(QueueConfig("default", "FifoSkip"))

    def come(self, names: list[str], sizes: Sizes) -> None:
        notes = {}
        if len(names) > 1:
            self.desk.group(names[0], len(names))
            notes = {"group": names[0]}
        born = [
            self.desk.born(name, class_id=size, **notes)[0]
            for name, size in zip(names, sizes, strict=True)
        ]
        self.desk.absorb(arrivals=born)

    def settle(self, cures: Cure) -> None:
        self.desk.wake(cures, self.machines.capacity)
        while work := self.desk.work(1000)[0]:
            for each in work:
                self.answer(each)
            self.desk.wake(Cure.NONE, self.machines.capacity)

    def answer(self, each: Dispatch) -> None:
        names = self.desk.names(each.rows)
        sizes = tuple(int(self.desk.pods.class_id[row]) for row in each.rows)
        if self.machines.place(names, sizes) is None:
            self.desk.place(*names)
            return
        full = (size for size in sizes if self.machines.capacity(size) == 0)
        self.desk.no_place(*names, class_id=next(full, sizes[0]))


@given(st.lists(st.integers(1, 6), min_size=1, max_size=3), STEPS)
def test_units_are_placed_as_if_all_were_tried_in_order(
    free: list[int], steps: list[Sizes | int]
) -> None:
    all_, few = PlainQueue(free), Few(free)
    for number, value in enumerate(steps):
        cures = Cure.NONE
        if isinstance(value, tuple):
            names = [f"p{number}-{i}" for i in range(len(value))]
            all_.waiting.append((names, value))
            few.come(names, value)
        elif len(all_.machines.places) > value:
            name, cures = sorted(all_.machines.places)[value], Cure.POD_LEFT
            all_.machines.leave(name)
            few.machines.leave(name)
            few.desk.delete(name)
        all_.settle()
        few.settle(cures)
        assert few.machines.places == all_.machines.places
    assert few.desk.dispatcher.audit() == []
    waiting = sum(unit.state is UnitState.UNSCHEDULABLE for unit in few.desk.units)
    assert waiting <= len(all_.waiting)
