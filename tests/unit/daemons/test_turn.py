"""A step that waits for I/O does not hold up other threads."""

import threading
from collections.abc import Sequence

from stretto.api.wire.kinds import POD, Kind
from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.daemons.turn import Turn, TurnStore
from stretto.stores.embedded.memory import MemoryStore
from stretto.stores.store import Replies
from stretto.testing import make_pod

MOMENT = 5.0
"""Maximum seconds on a busy machine."""


class SilentStore(MemoryStore):
    """A store that answers creations only once it is allowed to."""

    def __init__(self) -> None:
        super().__init__(ManualClock(), Rng(1))
        self.called = threading.Event()
        self.answers = threading.Event()

    def create(self, kind: Kind, bodies: Sequence[bytes]) -> Replies:
        self.called.set()
        assert self.answers.wait(MOMENT)
        return super().create(kind, bodies)


def stepping(turn: Turn, store: SilentStore, done: list[str]) -> threading.Thread:
    """A thread whose step writes to a silent store."""

    def step() -> None:
        with turn, turn:
            TurnStore(store, turn).create(POD, [make_pod("p")])
            done.append("step")

    thread = threading.Thread(target=step)
    thread.start()
    assert store.called.wait(MOMENT)
    return thread


def test_another_thread_has_the_turn_while_a_store_is_silent() -> None:
    turn, store, done = Turn(), SilentStore(), list[str]()
    thread = stepping(turn, store, done)
    with turn:
        done.append("request")
        store.answers.set()
    thread.join(MOMENT)
    assert done == ["request", "step"]


def test_a_step_continues_only_with_the_turn() -> None:
    turn, store, done = Turn(), SilentStore(), list[str]()
    with turn:
        pass
    thread = stepping(turn, store, done)
    with turn:
        store.answers.set()
        thread.join(0.05)
        assert done == []
    thread.join(MOMENT)
    assert done == ["step"]


def test_a_call_without_the_turn_needs_none() -> None:
    turn, store = Turn(), SilentStore()
    store.answers.set()
    assert len(TurnStore(store, turn).create(POD, [make_pod("p")])) == 1
