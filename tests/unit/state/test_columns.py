import numpy as np
import pytest

from stretto.state.rows import snapshot as module
from stretto.state.rows.devices import DeviceRequest
from stretto.state.rows.ledger import Ledger
from stretto.state.rows.resources import CPU, MEMORY, MIB, PODS, SCAN_LIMIT
from stretto.state.rows.snapshot import Columns


def ledger_of(count: int = 1, **amounts: int) -> Ledger:
    ledger = Ledger()
    for _ in range(count):
        ledger.add_node("", {"cpu": 4000, "memory": 10 * MIB, "pods": 10, **amounts})
    return ledger


def synced(ledger: Ledger) -> Columns:
    columns = Columns(ledger)
    columns.sync()
    return columns


def own_log(columns: Columns) -> list[int]:
    return columns.log[: int(columns.log_state[1])].tolist()


def test_the_first_sync_copies_everything() -> None:
    columns = synced(ledger_of(2))
    assert columns.free[[CPU, MEMORY, PODS], 1].tolist() == [4000, 10, 10]
    assert (columns.live[:3].tolist(), columns.size) == ([1, 1, 0], 64)


def test_a_sync_without_changes_copies_nothing() -> None:
    columns = synced(ledger_of())
    head = columns.head
    assert not columns.sync()
    assert columns.head == head


def test_what_a_node_has_is_rounded_down() -> None:
    ledger = ledger_of()
    ledger.charge(0, [(MEMORY, 1)])
    assert synced(ledger).free[MEMORY, 0] == 9


def test_free_may_be_negative() -> None:
    ledger = ledger_of()
    ledger.charge(0, [(CPU, 5000)])
    assert synced(ledger).free[CPU, 0] == -1000


def test_a_capacity_beyond_the_scan_limit_shows_as_the_limit() -> None:
    columns = synced(ledger_of(cpu=SCAN_LIMIT * 5))
    assert columns.free[CPU, 0] == columns.alloc[CPU, 0] == SCAN_LIMIT


def test_percent_is_a_hundredth_of_the_capacity() -> None:
    columns = synced(ledger_of())
    assert columns.percent[CPU, 0] == np.float32(100) / np.float32(4000)
    assert columns.percent[CPU, 1] == 0


def test_only_slots_that_differ_are_logged() -> None:
    ledger = ledger_of(5)
    columns = synced(ledger)
    ledger.charge(3, [(CPU, 1)])
    ledger.touch([4])
    columns.sync()
    assert own_log(columns) == [3]


def test_ones_own_placement_coming_back_changes_nothing() -> None:
    ledger = ledger_of(5)
    columns = synced(ledger)
    columns.free[[CPU, PODS], 3] -= (100, 1)
    ledger.charge(3, [(CPU, 100)])
    columns.sync()
    assert own_log(columns) == []


def test_a_refused_placement_is_put_right() -> None:
    ledger = ledger_of(5)
    columns = synced(ledger)
    columns.free[CPU, 3] -= 100
    ledger.touch([3])
    columns.sync()
    assert (columns.free[CPU, 3], own_log(columns)) == (4000, [3])


def test_pods_of_another_form_are_seen_when_all_else_is_equal() -> None:
    ledger = ledger_of(5)
    columns = synced(ledger)
    ledger.devices.take(2, 0, DeviceRequest("nvidia.com/gpu", 2, 1000))
    ledger.touch([2])
    columns.sync()
    assert (columns.census[2, 2], own_log(columns)) == (1, [2])


def test_a_change_of_most_slots_starts_the_own_log_afresh() -> None:
    ledger = ledger_of(60)
    columns = synced(ledger)
    ledger.charge(0, [])
    columns.sync()
    head = columns.head
    ledger.touch(list(range(60)))
    columns.sync()
    assert (own_log(columns), columns.log_state[0] > head) == ([], True)


def test_new_arrays_change_the_shape_version() -> None:
    ledger = ledger_of(64)
    columns = synced(ledger)
    shape = columns.shape_version
    ledger.add_node("", {})
    assert (columns.sync(), columns.shape_version) == (True, shape + 1)


def test_a_resource_that_only_pods_name_has_a_column_too() -> None:
    ledger = ledger_of()
    columns = synced(ledger)
    names = [ledger.resources.column(f"x.io/{n}") for n in range(20)]
    assert columns.sync()
    assert not columns.free[names].any()


def test_a_coarser_step_rescales_every_amount() -> None:
    ledger = ledger_of()
    ledger.set_allocatable(0, {"x.io/b": 5000})
    columns = synced(ledger)
    ledger.add_node("", {"x.io/b": SCAN_LIMIT * 2})
    columns.sync()
    assert columns.alloc[ledger.resources.column("x.io/b"), :2].tolist() == [4, SCAN_LIMIT // 512]


def test_a_full_own_log_drops_its_older_half(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "OWN_LOG", 8)
    columns = synced(ledger_of(20))
    for slot in range(9):
        columns.append(np.array([slot]))
    assert own_log(columns) == [4, 5, 6, 7, 8]
    assert columns.head == columns.log_state[0] + 5


def test_a_huge_batch_makes_the_own_log_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "OWN_LOG", 8)
    columns = synced(ledger_of(20))
    columns.append(np.arange(20))
    assert own_log(columns) == list(range(20))
