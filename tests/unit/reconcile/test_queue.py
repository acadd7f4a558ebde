"""Keys with delays."""

from hypothesis import given
from hypothesis import strategies as st

from stretto.reconcile.queue import DelayQueue


def test_a_key_is_due_at_its_time() -> None:
    queue = DelayQueue[str]()
    queue.add("a", 5.0)
    assert queue.pop(4.9) is None
    assert queue.pop(5.0) == "a"


def test_a_key_that_comes_twice_is_due_once_at_the_earlier_time() -> None:
    queue = DelayQueue[str]()
    queue.add("a", 5.0)
    queue.add("a", 2.0)
    queue.add("a", 7.0)
    assert queue.next_due() == 2.0
    assert [queue.pop(9.0), queue.pop(9.0)] == ["a", None]


def test_equal_times_keep_the_order_of_arrival() -> None:
    queue = DelayQueue[str]()
    for key in "cab":
        queue.add(key, 1.0)
    assert [queue.pop(1.0) for _ in range(3)] == ["c", "a", "b"]


def test_a_discarded_key_is_never_due() -> None:
    queue = DelayQueue[str]()
    queue.add("a", 1.0)
    queue.discard("a")
    assert queue.next_due() is None
    assert len(queue) == 0


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 9))))
def test_every_key_comes_out_once_at_its_earliest_time(adds: list[tuple[int, int]]) -> None:
    queue = DelayQueue[int]()
    earliest: dict[int, int] = {}
    for key, at in adds:
        queue.add(key, float(at))
        earliest[key] = min(at, earliest.get(key, at))
    out = {key: at for at in range(10) for key in iter(lambda at=at: queue.pop(float(at)), None)}
    assert out == earliest
