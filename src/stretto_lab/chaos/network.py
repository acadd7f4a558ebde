"""What stands between the plane and its store, and between its own parts.

``ChaosStore`` is the faulty store with fate in place of a stream of chance; ``SlowPlane`` is the
real plane whose plans may reach the binder some steps late, as they do between processes.
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
"""Steps that a plan is late at most."""


class ChaosStore(FaultyStore):
    """The faulty store, its chance replaced by fate."""

    def __init__(
        self,
        inner: Store,
        fate: FaultDraw,
        clock: Clock,
        acknowledged: MutableMapping[str, str],
    ) -> None:
        """``acknowledged`` takes what the store says yes to: uid of the pod to node."""
        super().__init__(inner, fate.rng, NO_FAULTS, clock)
        #: Whether lists are quorum reads now: whoever starts must not begin with an old one.
        self.fresh: bool = True
        self._chance = fate
        self._acknowledged = acknowledged
        self._binds_units = True

    def bind_pod_by_pod(self) -> None:
        """From now on it has no transactions, as an API server has none."""
        self._binds_units = False

    @property
    def capabilities(self) -> Capabilities:
        """Those of the faulty store, without transactions if it has none."""
        found = super().capabilities
        return replace(found, binds_units=found.binds_units and self._binds_units)

    def list(self, kind: Kind, selection: ListOptions = EVERYTHING) -> Listing:
        """A list, stale now and then unless it must be fresh."""
        if self.fresh:
            self._land(self._clock.monotonic())
            return self._inner.list(kind, selection)
        return super().list(kind, selection)

    def bind(self, binds: Sequence[Bind]) -> Replies:
        """Bind pods, and note what is acknowledged."""
        replies = super().bind(binds)
        self._note(binds, replies)
        return replies

    def bind_units(self, units: Sequence[Sequence[Bind]]) -> UnitReplies:
        """Bind units, and note what is acknowledged."""
        answers = super().bind_units(units)
        for unit, replies in zip(units, answers, strict=True):
            self._note(unit, replies)
        return answers

    def _note(self, binds: Sequence[Bind], replies: Replies) -> None:
        for bind, reply in zip(binds, replies, strict=True):
            if reply.outcome is WriteOutcome.OK:
                self._acknowledged[bind.uid] = bind.node


class SlowPlane(Plane):
    """The real plane; only its plans may be late on their way from shard to binder."""

    def __init__(
        self, config: PlaneConfig, store: ChaosStore, clock: Clock, fate: FaultDraw
    ) -> None:
        """A plane that crashes where fate says so."""
        self._fault_draw = fate
        self._late: list[tuple[int, Plan]] = []
        schedule = Stage("schedule", self._schedule_late)
        wiring = Wiring(stages=with_stage(STEP, schedule))
        super().__init__(config, store, clock, self._fail, wiring)

    def restart_shard(self, number: int, now: float) -> None:
        """A shard has died: its plans may be lost with it, or arrive after its death."""
        self._late = [
            (due, plan)
            for due, plan in self._late
            if plan.shard != number or not self._fault_draw.fires("lost_plan_of_the_dead")
        ]
        super().restart_shard(number, now)

    def _fail(self, name: str) -> None:
        if self._fault_draw.fires(f"crash {name}"):
            raise Crash(name)

    def _schedule_late(self, plane: Plane, work: StepWork) -> None:
        """Plans that arrive in this step: late ones first, then the new ones that are not late."""
        Plane.schedule(plane, work)
        fate = self._fault_draw
        arrived = [plan for due, plan in self._late if due <= fate.step or not fate.active]
        self._late = [(due, plan) for due, plan in self._late if due > fate.step and fate.active]
        for plan in work.plans:
            if fate.fires("late_plan"):
                self._late.append((fate.step + fate.rng.randint(1, LATEST), plan))
            else:
                arrived.append(plan)
        work.plans = arrived
