"""Faults between the plane and its store, and between parts of the plane.

``ChaosStore`` is the faulty store with fault draws instead of a random stream. ``SlowPlane`` is the
real plane with plans that may reach the binder some steps late, as between processes.
"""

from collections.abc import MutableMapping, Sequence
from typing import Final

from msgspec.structs import replace

from stretto.api.wire.kinds import Kind
from stretto.base.clock import Clock
from stretto.base.failpoints import Crash
from stretto.plane.config import PlaneConfig
from stretto.plane.plane import STEP, Plane, Stage, Wiring, with_stage
from stretto.plane.work import StepWork
from stretto.state.work.claims import Plan
from stretto.stores.capabilities import Capabilities
from stretto.stores.faulty.odds import NO_FAULTS
from stretto.stores.faulty.store import FaultyStore
from stretto.stores.store import (
    EVERYTHING,
    Bind,
    Listing,
    ListOptions,
    Replies,
    Store,
    UnitReplies,
    WriteOutcome,
)
from stretto_lab.chaos.draws.faults import FaultDraw

LATEST: Final = 5
"""Maximum delay of a plan in steps."""


class ChaosStore(FaultyStore):
    """The faulty store, driven by fault draws."""

    def __init__(
        self,
        inner: Store,
        fault_draw: FaultDraw,
        clock: Clock,
        acknowledged: MutableMapping[str, str],
    ) -> None:
        """Initialize; ``acknowledged`` receives acknowledged binds: pod uid to node."""
        super().__init__(inner, fault_draw.rng, NO_FAULTS, clock)
        #: True if lists are quorum reads, because a starting plane must not use a stale list.
        self.fresh: bool = True
        self._chance = fault_draw
        self._acknowledged = acknowledged
        self._binds_units = True

    def bind_pod_by_pod(self) -> None:
        """Disable transactions, as with an API server."""
        self._binds_units = False

    @property
    def capabilities(self) -> Capabilities:
        """Capabilities of the faulty store, without transactions if they are disabled."""
        found = super().capabilities
        return replace(found, binds_units=found.binds_units and self._binds_units)

    def list(self, kind: Kind, selection: ListOptions = EVERYTHING) -> Listing:
        """A list, sometimes stale unless it must be fresh."""
        if self.fresh:
            self._land(self._clock.monotonic())
            return self._inner.list(kind, selection)
        return super().list(kind, selection)

    def bind(self, binds: Sequence[Bind]) -> Replies:
        """Bind pods and record acknowledged binds."""
        replies = super().bind(binds)
        self._note(binds, replies)
        return replies

    def bind_units(self, units: Sequence[Sequence[Bind]]) -> UnitReplies:
        """Bind units and record acknowledged binds."""
        answers = super().bind_units(units)
        for unit, replies in zip(units, answers, strict=True):
            self._note(unit, replies)
        return answers

    def _note(self, binds: Sequence[Bind], replies: Replies) -> None:
        for bind, reply in zip(binds, replies, strict=True):
            if reply.outcome is WriteOutcome.OK:
                self._acknowledged[bind.uid] = bind.node


class SlowPlane(Plane):
    """The real plane, with late plans between shard and binder."""

    def __init__(
        self, config: PlaneConfig, store: ChaosStore, clock: Clock, fault_draw: FaultDraw
    ) -> None:
        """Create a plane that crashes at drawn failpoints."""
        self._fault_draw = fault_draw
        self._late: list[tuple[int, Plan]] = []
        schedule = Stage("schedule", self._schedule_late)
        wiring = Wiring(stages=with_stage(STEP, schedule))
        super().__init__(config, store, clock, self._fail, wiring)

    def restart_shard(self, number: int, now: float) -> None:
        """Restart a shard; its late plans may be lost or arrive afterwards."""
        self._late = [
            (due, plan)
            for due, plan in self._late
            if plan.shard != number or not self._fault_draw.fires("lost_plan_of_the_dead")
        ]
        super().restart_shard(number, now)

    def _fail(self, name: str) -> None:
        if self._fault_draw.fires(f"crash {name}"):
            raise Crash(name)

    def _schedule_late(self, plane: Plane, work: StepWork) -> bool:
        """Deliver the plans of this step: late ones first, then new ones without delay."""
        acted = Plane.schedule(plane, work)
        faults = self._fault_draw
        arrived = [plan for due, plan in self._late if due <= faults.step or not faults.active]
        self._late = [
            (due, plan) for due, plan in self._late if due > faults.step and faults.active
        ]
        for plan in work.plans:
            if faults.fires("late_plan"):
                self._late.append((faults.step + faults.rng.randint(1, LATEST), plan))
            else:
                arrived.append(plan)
        work.plans = arrived
        return acted
