import numpy as np

from stretto.state.rows.lifecycle import PodState
from stretto.state.rows.pods import FIRST_ROWS, NO_SLOT, NewPod, Pods


def new(name: str, class_id: int = 0) -> NewPod:
    return NewPod(f"uid-{name}", "ns", name, class_id, 7, 3, 1.5)


def pods_of(*names: str) -> Pods:
    pods = Pods()
    pods.add([new(name) for name in names])
    return pods


def test_a_pod_is_found_by_its_uid() -> None:
    pods = pods_of("a", "b")
    assert (pods.row("uid-b"), pods.row("b"), len(pods)) == (1, None, 2)


def test_a_new_row_holds_what_it_was_made_from() -> None:
    pods = pods_of("a")
    assert (pods.key(0), pods.priority[0], pods.version[0], pods.since[0]) == ("ns/a", 7, 3, 1.5)
    assert (pods.state[0], pods.slot[0]) == (PodState.PENDING, NO_SLOT)


def test_a_reader_of_the_log_gets_a_forgotten_pod() -> None:
    pods = pods_of("a", "b")
    before = pods.log.head
    pods.remove(1)
    changed = pods.log.since(before)
    assert changed is not None
    assert changed.tolist() == [1]


def test_rows_of_a_batch_come_in_its_order() -> None:
    assert Pods().add([new("a"), new("b"), new("c")]).tolist() == [0, 1, 2]


def test_a_row_is_used_again_under_another_serial() -> None:
    pods = pods_of("a", "b")
    before = pods.serial[0]
    pods.remove(0)
    assert pods.add([new("c")]).tolist() == [0]
    assert pods.serial[0] > before


def test_a_removed_pod_leaves_nothing() -> None:
    pods = pods_of("a", "b")
    pods.remove(0)
    assert (pods.row("uid-a"), pods.serial[0], pods.uid[0]) == (None, 0, "")
    assert pods.rows().tolist() == [1]


def test_a_used_row_drops_slot_and_devices() -> None:
    pods = pods_of("a")
    pods.slot[0], pods.devices[0] = 5, 3
    pods.remove(0)
    pods.add([new("b")])
    assert (pods.slot[0], pods.devices[0]) == (NO_SLOT, 0)


def test_columns_double_when_they_are_full() -> None:
    pods = Pods()
    pods.add([new(str(number), number) for number in range(FIRST_ROWS + 1)])
    assert len(pods.state) == len(pods.uid) == 2 * FIRST_ROWS
    assert np.array_equal(pods.class_id[: pods.length], np.arange(FIRST_ROWS + 1))
    assert len(pods.rows()) == FIRST_ROWS + 1


def test_pods_on_a_slot_are_found() -> None:
    pods = pods_of("a", "b", "c")
    pods.slot[[0, 2]] = 9
    assert pods.on_slot(9).tolist() == [0, 2]
