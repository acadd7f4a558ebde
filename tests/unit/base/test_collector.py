"""Python's collector does not pause a latency-critical loop; no garbage is kept permanently."""

import gc
import weakref
from collections.abc import Iterator

import pytest

from stretto.base.collector import Pace


class Knot:
    """Garbage that only the collector finds."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture(autouse=True)
def often() -> Iterator[None]:
    before = gc.get_threshold()
    gc.collect()
    gc.set_threshold(100, 5, 5)
    yield
    gc.set_threshold(*before)


def knots(count: int) -> list[weakref.ref[Knot]]:
    return [weakref.ref(Knot()) for _ in range(count)]


def left(made: list[weakref.ref[Knot]]) -> int:
    return sum(one() is not None for one in made)


def test_no_object_is_collected_while_the_loop_is_busy() -> None:
    with Pace(spared=1000) as pace:
        made = knots(5000)
        pace.spare(idle=False)
        assert left(made) == 5000


def test_an_idle_loop_collects_once_enough_objects_are_new() -> None:
    with Pace(spared=1000) as pace:
        few = knots(100)
        pace.spare(idle=True)
        assert left(few) > 0
        many = knots(5000)
        pace.spare(idle=True)
        assert left(few) == 0
        assert left(many) < 200  # the youngest came after the last look began


def test_afterwards_python_collects_by_itself_again() -> None:
    with Pace():
        made = knots(1000)
    assert not gc.callbacks or all("Pace" not in repr(each) for each in gc.callbacks)
    gc.collect()
    assert left(made) == 0
