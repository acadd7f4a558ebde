"""Signals of changes: a stream that waits is called at the next change, once."""

from stretto.api.wire.kinds import CONFIG_MAP, NODE
from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.stores.embedded.memory import MemoryStore
from stretto.testing import make_node
from stretto.web.api.streams.signals import ChangeSignals


class Waiting:
    """A stream that waits for nodes."""

    def __init__(self) -> None:
        self.calls = 0
        self.store = MemoryStore(ManualClock(), Rng(1))
        self.signals = ChangeSignals()
        self.store.subscribe(self.signals.notify)
        self.signals.call_once(NODE, self.wake)

    def wake(self) -> None:
        """Count a call."""
        self.calls += 1

    def change(self, name: str) -> None:
        """Create a node."""
        self.store.create(NODE, [make_node(name)])


def test_many_changes_call_a_stream_once() -> None:
    waiting = Waiting()
    for name in "abc":
        waiting.change(name)
    assert waiting.calls == 1


def test_a_stream_that_waits_again_is_called_again() -> None:
    waiting = Waiting()
    waiting.change("a")
    waiting.signals.call_once(NODE, waiting.wake)
    waiting.change("b")
    assert waiting.calls == 2


def test_a_change_of_another_kind_calls_nothing() -> None:
    waiting = Waiting()
    waiting.store.create(CONFIG_MAP, [b'{"metadata": {"namespace": "default", "name": "m"}}'])
    assert waiting.calls == 0


def test_a_stream_that_is_closed_is_not_called() -> None:
    waiting = Waiting()
    waiting.signals.forget(NODE, waiting.wake)
    waiting.change("a")
    assert waiting.calls == 0
