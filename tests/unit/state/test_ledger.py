import numpy as np
import pytest

from stretto.state.rows import ledger as module
from stretto.state.rows.ledger import Ledger
from stretto.state.rows.resources import CPU, MEMORY, PODS

GIB = 1 << 30


def ledger_of(*nodes: dict[str, int]) -> Ledger:
    ledger = Ledger()
    for amounts in nodes or ({"cpu": 4000, "memory": GIB, "pods": 10},):
        ledger.add_node("", amounts)
    return ledger


def test_a_new_node_has_what_it_may_give_and_nothing_taken() -> None:
    ledger = ledger_of()
    assert ledger.alloc[0, [CPU, MEMORY, PODS]].tolist() == [4000, GIB, 10]
    assert not ledger.used.any()


def test_a_charge_takes_amounts_and_a_place() -> None:
    ledger = ledger_of()
    ledger.charge(0, [(CPU, 300)])
    assert ledger.used[0, [CPU, PODS]].tolist() == [300, 1]


def test_giving_back_is_the_inverse_of_a_charge() -> None:
    ledger = ledger_of()
    ledger.charge(0, [(CPU, 300), (MEMORY, 5)])
    ledger.charge(0, [(CPU, 300), (MEMORY, 5)], -1)
    assert not ledger.used.any()


def test_what_is_requested_must_be_free_to_the_last_unit() -> None:
    ledger = ledger_of()
    ledger.charge(0, [(CPU, 3000)])
    assert (ledger.fits(0, [(CPU, 1000)]), ledger.fits(0, [(CPU, 1001)])) == (True, False)


def test_a_node_with_no_place_left_takes_no_pod() -> None:
    ledger = ledger_of({"cpu": 4000, "pods": 1})
    ledger.charge(0, [])
    assert not ledger.fits(0, [])


def test_nothing_fits_where_no_node_lives() -> None:
    ledger = ledger_of()
    assert not ledger.fits(1, [])


def test_a_node_may_shrink_under_its_pods() -> None:
    ledger = ledger_of()
    ledger.charge(0, [(CPU, 3000)])
    ledger.set_allocatable(0, {"cpu": 1000, "pods": 10})
    assert not ledger.fits(0, [(CPU, 1)])
    assert ledger.fits(0, [(MEMORY, 0)])


def test_resources_without_end_make_the_rows_wider() -> None:
    ledger = ledger_of({f"x.io/{n}": n + 1 for n in range(40)})
    assert ledger.alloc[0, 4:44].tolist() == list(range(1, 41))


def test_a_resource_that_only_pods_name_can_be_charged() -> None:
    ledger = ledger_of()
    columns = [ledger.resources.column(f"x.io/{n}") for n in range(40)]
    ledger.charge(0, [(columns[-1], 7)])
    assert ledger.used[0, columns[-1]] == 7
    assert not ledger.fits(0, [(columns[-2], 1)])


def test_a_removed_node_keeps_no_amounts() -> None:
    ledger = ledger_of()
    ledger.charge(0, [(CPU, 300)])
    ledger.remove_node(0)
    assert not ledger.alloc[0].any()
    assert not ledger.used[0].any()


def test_a_slot_is_read_again_without_being_another() -> None:
    ledger = ledger_of()
    version, head = ledger.version.tolist(), ledger.head
    ledger.mark_changed([0])
    changes = ledger.changes_since(head)
    assert changes is not None
    assert (changes.tolist(), ledger.version.tolist()) == ([0], version)


def test_changes_are_listed_from_a_position() -> None:
    ledger = ledger_of()
    before = ledger.head
    ledger.charge(0, [])
    changed = ledger.changes_since(before)
    assert changed is not None
    assert changed.tolist() == [0]


def test_every_change_raises_the_version_of_its_slot_alone() -> None:
    ledger = ledger_of({"cpu": 1}, {"cpu": 1})
    before = ledger.version.copy()
    ledger.charge(1, [])
    assert (ledger.version > before).nonzero()[0].tolist() == [1]


def test_usage_is_no_static_change() -> None:
    ledger = ledger_of()
    before = int(ledger.static_version[0])
    ledger.charge(0, [])
    assert ledger.static_version[0] == before
    ledger.touch_static([0])
    assert ledger.static_version[0] == ledger.version[0] > before


@pytest.fixture
def short_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LOG_LIMIT", 8)


@pytest.mark.usefixtures("short_log")
def test_a_full_log_drops_its_older_half() -> None:
    ledger = ledger_of()
    start = ledger.head
    for _ in range(12):
        ledger.touch([0])
    assert ledger.changes_since(start) is None
    latest = ledger.changes_since(ledger.head - 4)
    assert latest is not None
    assert len(latest) == 4


@pytest.mark.usefixtures("short_log")
def test_positions_continue_when_the_log_drops_entries() -> None:
    ledger = ledger_of()
    start = ledger.head
    for _ in range(30):
        ledger.touch([0])
    assert ledger.head == start + 30


@pytest.mark.usefixtures("short_log")
def test_a_batch_longer_than_the_log_raises_every_version() -> None:
    ledger = ledger_of(*[{"cpu": 1}] * 20)
    before, start = ledger.version.copy(), ledger.head
    ledger.touch(np.arange(20, dtype=np.int64))
    assert (ledger.version[:20] > before[:20]).all()
    assert (ledger.changes_since(start), ledger.head) == (None, start + 20)


@pytest.mark.usefixtures("short_log")
def test_touching_nothing_is_no_change() -> None:
    ledger = ledger_of()
    before = ledger.head
    ledger.touch([])
    assert ledger.head == before
