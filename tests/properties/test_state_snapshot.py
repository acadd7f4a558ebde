"""A snapshot updated from the change log equals a full copy after any changes."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stretto.api.types.effective_requests import ANY_ADDRESS, HostPort
from stretto.state.rows import ledger as ledger_module
from stretto.state.rows import snapshot as columns_module
from stretto.state.rows.devices import DeviceRequest
from stretto.state.rows.ledger import Ledger
from stretto.state.rows.resources import SCAN_LIMIT
from stretto.state.rows.snapshot import Columns
from tests.support.hand_fed_cluster import same_columns

GPU = "nvidia.com/gpu"
Move = tuple[str, int, int]

LOCAL = ["charge", "refund", "ports", "device", "census", "remove", "resize", "touch"]
WIDE = ["add", "resource", "coarser", "flood"]
#: Moves of one slot and reads between them are common; rebuilding all arrays is rare.
moves = st.lists(
    st.tuples(
        st.sampled_from(3 * LOCAL + WIDE + 8 * ["sync"]), st.integers(0, 200), st.integers(1, 5)
    ),
    max_size=60,
)


class Stage:
    """A ledger, its state, and two snapshots of different age."""

    def __init__(self) -> None:
        self.ledger = Ledger()
        self.live: list[int] = []
        for _ in range(5):
            self.add(0, 1)
        self.snapshots = [Columns(self.ledger), Columns(self.ledger)]

    def add(self, where: int, count: int) -> None:
        amounts = {"cpu": 1000 * count, "memory": where << 18, "pods": 20}
        slot = self.ledger.add_node(f"zone{where % 3}", amounts)
        self.ledger.devices.install(slot, GPU, count, f"m{where % 4}")
        self.ledger.touch_static([slot])
        self.live.append(slot)

    def play(self, move: str, where: int, count: int) -> None:
        ledger = self.ledger
        if move in ("add", "sync", "resource", "coarser", "flood") or not self.live:
            self.at_large(move, where, count)
            return
        slot = self.live[where % len(self.live)]
        if move in ("charge", "refund"):
            ledger.charge(slot, [(where % 3, 100 * count)], 1 if move == "charge" else -1)
        elif move == "ports":
            port = HostPort(ANY_ADDRESS, "TCP", where)
            ledger.ports.learn([port])
            ledger.ports.take(slot, [port])
        elif move in ("device", "census"):
            mask = 1 << (count - 1) if move == "device" else 0
            ledger.devices.take(slot, mask, DeviceRequest(GPU, 1, 10 * count))
        elif move == "remove":
            ledger.remove_node(slot)
            self.live.remove(slot)
        elif move == "resize":
            ledger.set_allocatable(slot, {"cpu": 500 * count, "pods": 20})
        ledger.touch([slot])

    def at_large(self, move: str, where: int, count: int) -> None:
        if move == "resource":
            for number in range(count):
                self.ledger.resources.column(f"x.io/{where + number}")
        elif move == "coarser" and self.live:
            self.ledger.set_allocatable(self.live[0], {"x.io/bytes": SCAN_LIMIT << (4 * count)})
        elif move == "flood":
            self.ledger.touch(self.live * count)
        elif move == "sync":
            self.snapshots[0].sync()
        else:
            self.add(where, count)

    def wrong(self) -> list[str]:
        full = Columns(self.ledger)
        full.sync()
        found = []
        for snapshot in self.snapshots:
            snapshot.sync()
            found += same_columns(snapshot, full)
        return found


@pytest.fixture
def short_logs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger_module, "LOG_LIMIT", 16)
    monkeypatch.setattr(columns_module, "OWN_LOG", 16)


@settings(max_examples=75)
@given(moves)
def test_keeping_up_equals_copying(script: list[Move]) -> None:
    stage = Stage()
    for move in script:
        stage.play(*move)
    assert stage.wrong() == []


@pytest.mark.usefixtures("short_logs")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(moves)
def test_keeping_up_equals_copying_when_logs_overflow(script: list[Move]) -> None:
    stage = Stage()
    for move in script:
        stage.play(*move)
    assert stage.wrong() == []
    assert stage.ledger.head >= 5


@given(moves)
def test_a_replay_of_the_own_log_contains_every_change(script: list[Move]) -> None:
    stage = Stage()
    columns = stage.snapshots[0]
    columns.sync()
    before, head, shape = columns.free.copy(), columns.head, columns.shape_version
    for move in script:
        stage.play(*move)
    columns.sync()
    if columns.shape_version == shape and columns.log_state[0] <= head:
        logged = set(columns.log[head - int(columns.log_state[0]) :][: columns.head - head])
        changed = (columns.free != before).any(axis=0).nonzero()[0]
        assert set(changed.tolist()) <= logged
