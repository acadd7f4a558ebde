"""Keyed heaps: order, stability, removal in the middle, bounded garbage."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.base.heaps import SMALL, KeyedHeap


def make_heap(*priorities: int) -> KeyedHeap[str, int]:
    heap: KeyedHeap[str, int] = KeyedHeap()
    for index, priority in enumerate(priorities):
        heap.push(chr(ord("a") + index), index, (priority,))
    return heap


def drain(heap: KeyedHeap[str, int]) -> str:
    return "".join(heap.pop()[0] for _ in range(len(heap)))


def test_the_smallest_priority_comes_first() -> None:
    assert drain(make_heap(3, 1, 2)) == "bca"


def test_equal_priorities_come_in_the_order_of_pushing() -> None:
    assert drain(make_heap(1, 0, 1, 0)) == "bdac"


def test_peek_takes_nothing() -> None:
    heap = make_heap(2, 1)
    assert (heap.peek(), len(heap)) == (("b", 1), 2)


def test_a_removed_item_never_surfaces() -> None:
    heap = make_heap(3, 1, 2)
    assert heap.remove("b") == 1
    assert drain(heap) == "ca"


def test_removing_what_is_not_there_answers_none() -> None:
    assert make_heap(1).remove("z") is None


def test_a_new_priority_moves_an_item() -> None:
    heap = make_heap(1, 2)
    heap.update("a", 0, (9,))
    assert drain(heap) == "ba"


def test_an_equal_priority_keeps_the_turn() -> None:
    heap = make_heap(1, 1)
    heap.update("a", 7, (1,))
    assert heap.pop() == ("a", 7)


def test_updating_what_is_not_there_adds_it() -> None:
    heap = make_heap(1)
    heap.update("z", 5, (0,))
    assert drain(heap) == "za"


def test_a_key_is_pushed_once() -> None:
    heap = make_heap(1)
    with pytest.raises(KeyError):
        heap.push("a", 0, (2,))


def test_a_key_pushed_again_after_removal_goes_last_among_equals() -> None:
    heap = make_heap(1, 1)
    heap.remove("a")
    heap.push("a", 0, (1,))
    assert drain(heap) == "ba"


def test_an_empty_heap_has_no_first() -> None:
    heap = make_heap(1)
    heap.remove("a")
    with pytest.raises(IndexError):
        heap.peek()


def test_membership_get_and_iteration_see_the_living_only() -> None:
    heap = make_heap(1, 2)
    heap.remove("a")
    assert ("a" in heap, heap.get("a"), heap.get("b"), list(heap)) == (False, None, 1, ["b"])


def test_garbage_stays_bounded() -> None:
    heap = make_heap(0)
    for turn in range(10_000):
        heap.update("a", turn, (turn,))
    assert len(heap._heap) <= SMALL + 1


KEYS = st.sampled_from("abcdef")


@given(st.lists(st.tuples(KEYS, st.none() | st.integers(0, 3)), max_size=200))
def test_any_history_leaves_the_order_of_a_sorted_list(
    history: list[tuple[str, int | None]],
) -> None:
    heap, model = KeyedHeap[str, int](), dict[str, tuple[int, int]]()
    for turn, (key, priority) in enumerate(history):
        if priority is None:
            heap.remove(key)
            model.pop(key, None)
        else:
            heap.update(key, turn, (priority,))
            kept = model.get(key, (-1, 0))
            model[key] = kept if kept[0] == priority else (priority, turn)
    assert drain(heap) == "".join(sorted(model, key=model.__getitem__))
