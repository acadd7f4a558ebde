"""The loop reconciles what changed, retries what failed, and settles."""

import json
from collections.abc import Hashable, Iterable

import pytest

from stretto.api.wire.kinds import CONFIG_MAP
from stretto.base.clock import ManualClock
from stretto.base.errors import StrettoError
from stretto.base.rng import Rng
from stretto.reconcile.cache import Change
from stretto.reconcile.loop import ReconcileLoop, RetryDelays
from stretto.reconcile.reconciler import RetryError, Sweep
from stretto.stores.embedded.memory import MemoryStore


class Recorder:
    """Records its keys; fails as often as it is set to."""

    name = "recorder"

    def __init__(
        self,
        failures: int = 0,
        again: float | None = None,
        error: Exception = RetryError("not yet"),  # noqa: B008
    ) -> None:
        self.times: list[float] = []
        self.failures = failures
        self.again = again
        self.error = error

    def affected(self, change: Change) -> Iterable[Hashable]:
        return [change.object.name]

    def reconcile(self, key: Hashable, now: float) -> float | None:
        self.times.append(now)
        if len(self.times) <= self.failures:
            raise self.error
        return self.again


class World:
    """A store, a clock and a loop with one controller."""

    def __init__(self, controller: Recorder) -> None:
        self.clock = ManualClock()
        self.store = MemoryStore(self.clock, Rng(1))
        self.loop = ReconcileLoop(self.clock, RetryDelays(first=5.0, longest=12.0))
        self.loop.add_store("host", self.store).follow(CONFIG_MAP)
        self.loop.add_controllers([controller])

    def create(self, name: str) -> None:
        self.store.create(CONFIG_MAP, [json.dumps({"metadata": {"name": name}}).encode()])

    def run(self, seconds: float) -> None:
        end = self.clock.monotonic() + seconds
        self.loop.step()
        while (due := self.loop.next_due()) is not None and due <= end:
            self.clock.set(due)
            self.loop.step()


def test_a_change_is_reconciled_at_once() -> None:
    world = World(recorder := Recorder())
    world.create("a")
    assert world.loop.step() == 1
    assert recorder.times == [0.0]


def test_several_changes_of_one_object_are_reconciled_together() -> None:
    world = World(recorder := Recorder())
    world.create("a")
    world.create("b")
    world.create("a")
    world.loop.step()
    assert len(recorder.times) == 2


def test_a_failure_is_retried_with_growing_delays() -> None:
    world = World(recorder := Recorder(failures=3))
    world.create("a")
    world.run(100.0)
    assert recorder.times == [0.0, 5.0, 15.0, 27.0]
    assert world.loop.errors == {}


def test_the_last_error_of_a_key_is_known_while_it_waits() -> None:
    world = World(Recorder(failures=9))
    world.create("a")
    world.loop.step()
    assert world.loop.errors == {("recorder", ("default", "a")): "not yet"}


def test_a_key_that_meets_a_bug_does_not_stop_the_others(caplog: pytest.LogCaptureFixture) -> None:
    world = World(recorder := Recorder(failures=1, error=KeyError("spec")))
    world.create("a")
    world.create("b")
    world.loop.step()
    assert len(recorder.times) == 2
    assert "KeyError" in caplog.text


def test_a_key_can_request_a_later_reconciliation() -> None:
    world = World(recorder := Recorder(again=30.0))
    world.create("a")
    world.run(65.0)
    assert recorder.times == [0.0, 30.0, 60.0]


def test_a_loop_that_never_settles_names_its_busy_controllers() -> None:
    world = World(Recorder(again=0.0))
    world.create("a")
    with pytest.raises(StrettoError, match="recorder"):
        world.loop.step()


def test_the_objects_of_a_removed_store_count_as_deleted() -> None:
    world = World(recorder := Recorder())
    world.create("a")
    world.loop.step()
    world.loop.remove_store("host")
    world.loop.step()
    assert len(recorder.times) == 2


def test_a_step_ends_after_the_given_number_of_reconciliations() -> None:
    world = World(recorder := Recorder())
    for name in ("a", "b", "c"):
        world.loop.make_due(recorder.name, name)
    assert world.loop.step(2) == 2
    assert world.loop.lengths(world.clock.monotonic()) == {"recorder": (1, 0)}


def test_a_key_that_another_thread_posts_wakes_the_loop_and_is_reconciled() -> None:
    woken: list[bool] = []
    loop = ReconcileLoop(ManualClock(), wake=lambda: woken.append(True))
    loop.add_controllers([Recorder()])
    loop.post("recorder", "key")
    assert (loop.step(), woken) == (1, [True])
    assert loop.counts["recorder", "ok"] == 1


def test_failed_keys_are_counted_until_they_succeed() -> None:
    world = World(recorder := Recorder(failures=1))
    world.loop.make_due(recorder.name, "a")
    world.loop.step()
    assert world.loop.failed() == {"recorder": 1}
    world.run(6.0)
    assert world.loop.failed() == {}


class Narrow(Recorder):
    """Understands ConfigMaps with data only."""

    name = "narrow"

    def affected(self, change: Change) -> Iterable[Hashable]:
        return [change.object.fields["data"]["key"]]


def test_an_object_that_a_controller_does_not_understand_stops_no_other() -> None:
    world = World(recorder := Recorder())
    world.loop.add_controllers([narrow := Narrow()])
    world.create("odd")
    body = {"metadata": {"name": "fine"}, "data": {"key": "a"}}
    world.store.create(CONFIG_MAP, [json.dumps(body).encode()])
    world.loop.step()
    assert (len(recorder.times), len(narrow.times)) == (2, 1)


class Sweeper(Recorder):
    """Every change makes the same many keys due."""

    def __init__(self) -> None:
        super().__init__()
        self.enumerated = 0

    def affected(self, change: Change) -> Iterable[Hashable]:
        yield Sweep("all", self._all)

    def _all(self) -> Iterable[Hashable]:
        self.enumerated += 1
        return range(3)


def test_a_sweep_enumerates_its_keys_once_for_all_changes_that_are_read_together() -> None:
    sweeper = Sweeper()
    world = World(sweeper)
    for number in range(50):
        world.create(f"conf-{number}")
    world.run(1.0)
    assert (sweeper.enumerated, len(sweeper.times)) == (1, 3)


def test_a_sweep_that_fails_stops_no_other_controller() -> None:
    class Broken(Sweeper):
        def _all(self) -> Iterable[Hashable]:
            raise KeyError("malformed")

    world, other = World(Broken()), Recorder()
    world.loop.add_controllers([other])
    world.create("conf")
    world.run(1.0)
    assert len(other.times) == 1
