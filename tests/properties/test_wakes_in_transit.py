"""No pod stays asleep that an attempt would place, while binds and evictions are in flight.

The reference wakes every unit on every event: at rest, waking everything changes nothing. Units
have no periodic retry here, so a missed event shows.
"""

from math import inf
from typing import Any

import msgspec
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from stretto.api.types.godel import QueuePolicy
from stretto.api.wire.kinds import NODE, POD
from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.control.queues.config import DispatcherConfig, QueueConfig
from stretto.framework.profile.profile import load_profile
from stretto.plane.config import PlaneConfig
from stretto.plane.plane import Plane
from stretto.state.work.units import Cure
from stretto.stores.embedded.memory import MemoryStore
from stretto.stores.faulty.odds import FaultOdds
from stretto.stores.faulty.store import FaultyStore
from stretto.stores.store import Patch
from stretto.testing import Harness, make_node, make_pod

POLICIES = (QueuePolicy.PRIORITY, QueuePolicy.FIFO_SKIP)
WAIT_SECONDS = 20.0
REST, STEPS = 60.0, 20
"""Seconds after which every bind, eviction, nomination and back-off has ended."""


class TransitWorld(Harness):
    """A plane whose watch lags by up to some seconds, over a store with slow deletions."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.clock = ManualClock()
        odds = FaultOdds(delay_event=self.pick(0.0, 0.3, 0.8), refused_write=self.pick(0.0, 0.1))
        inner = MemoryStore(self.clock, Rng(seed))
        self.store = FaultyStore(inner, Rng(seed), odds, self.clock)
        protect = {"startedWithinSeconds": self.pick(0, 0, 10)}
        rules = {"protect": protect, "waitSeconds": WAIT_SECONDS}
        profile = load_profile({"profiles": [{"stretto": {"preemption": rules}}]})
        queue = QueueConfig("default", policy=self.pick(*POLICIES))
        dispatcher = DispatcherConfig(other_queues=queue, safety_net=inf)
        config = PlaneConfig(
            profile=profile, dispatcher=dispatcher, tier="numpy", shards=self.pick(1, 2)
        )
        self.plane = Plane(config, self.store, self.clock)
        inner.create(NODE, [make_node(f"n{i}", cpu="4") for i in range(self.pick(1, 2, 3))])
        self.inner = inner

    def pick(self, *choices: Any) -> Any:
        return choices[int(self.rng.integers(len(choices)))]

    def arrive(self, number: int) -> None:
        """Some pods of one priority; some end slowly."""
        bodies = []
        for i in range(self.pick(1, 1, 3, 8)):
            body = msgspec.json.decode(
                make_pod(
                    f"p{number}-{i}", cpu=self.pick("1", "2", "3"), priority=self.pick(0, 5, 9)
                )
            )
            if self.pick(True, False):
                body["metadata"]["finalizers"] = ["stretto.dev/test"]
            bodies.append(msgspec.json.encode(body))
        self.inner.create(POD, bodies)

    def finish_eviction(self) -> bool:
        """Deleted pods end; returns whether there were any."""
        records = [each for each in self.inner.list(POD).records if each.deleting]
        gone = {"metadata": {"finalizers": None}}
        self.inner.patch(POD, [Patch(each.namespace, each.name, gone) for each in records])
        return bool(records)

    def come_to_rest(self) -> None:
        """Wait until nothing is in flight."""
        for _ in range(50):
            for _ in range(STEPS):  # the end of a delay is no deadline of the plane
                self.settle(REST / STEPS)
            if not self.finish_eviction():
                return
        raise AssertionError("the evictions do not end")

    def wake_all(self) -> None:
        """Try every unit, as after every event."""
        timers = self.plane.dispatcher.timers
        timers.wake(Cure.ANY, lambda class_id: 1 << 30, self.clock.monotonic())
        self.plane.wake()
        self.come_to_rest()


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_waking_everything_changes_nothing_once_all_is_at_rest(seed: int) -> None:
    world = TransitWorld(seed)
    world.settle()
    for number in range(6):
        world.arrive(number)
        world.settle(world.pick(0.0, 0.0, 0.5, 3.0))
        if world.pick(True, False):
            world.finish_eviction()
    world.come_to_rest()
    before = world.placements()
    world.wake_all()
    assert world.placements() == before
