"""A plane whose shards and binder need virtual time for decisions and claims."""

from collections.abc import Sequence
from math import inf
from typing import Final

from stretto.api.wire.kinds import NODE, POD
from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.control.scheduler.loop import SchedulingLoop
from stretto.plane.config import PlaneConfig, Step
from stretto.plane.plane import Plane
from stretto.sim.writes import AT_ONCE, create_all
from stretto.state.work.claims import Plan
from stretto.stores.embedded.memory import MemoryStore

CLOSE: Final = 1e-9
"""Tolerance in seconds within which two instants are equal."""


class BinderTime:
    """The time line of the single binder."""

    def __init__(self, commit_s: float) -> None:
        """Create a binder that needs ``commit_s`` seconds per claim."""
        #: Seconds for each claim.
        self.commit_s = commit_s
        #: Clock time at which the binder becomes idle.
        self.free_at: float = 0.0

    def turn(self, ready: float, claims: int) -> float:
        """Return the start of the check of a plan; call it in the order of readiness."""
        begins = max(ready, self.free_at)
        self.free_at = begins + claims * self.commit_s
        return begins


class SlowPlanning:
    """Delays the plans of a loop by a decision time.

    It replaces ``cycle`` of the loop. The plan is computed immediately on the current snapshot. It
    is delivered when its decision time has passed and the binder is idle. The loop makes no other
    plan until the binder has answered.
    """

    def __init__(
        self, loop: SchedulingLoop, clock: ManualClock, decision_s: float, binding: BinderTime
    ) -> None:
        """Delay the plans of ``loop`` by ``decision_s`` seconds."""
        self._cycle = loop.cycle
        self._clock = clock
        self._decision_s = decision_s
        self._binding = binding
        self._plan: Plan | None = None
        self._due = -inf

    @property
    def due(self) -> float:
        """Clock time of the next delivery; infinity if no plan is waiting."""
        return self._due if self._due > self._clock.monotonic() else inf

    def cycle(self, limit: int) -> Plan | None:
        """Return the plan of ``SchedulingLoop.cycle`` once it is due."""
        now = self._clock.monotonic()
        if now < self._due - CLOSE:
            return None
        if self._plan is None:
            self._plan = self._cycle(limit)
            if self._plan is None:
                return None
            self._due = self._binding.turn(now + self._decision_s, len(self._plan.rows))
            if now < self._due - CLOSE:
                return None
        plan, self._plan = self._plan, None
        self._due = now + len(plan.rows) * self._binding.commit_s
        return plan


class SlowBacklog:
    """One plane with slow shards and a backlog of pods."""

    def __init__(self, config: PlaneConfig, decision_s: float, commit_s: float) -> None:
        """Create the plane; the times are seconds per decision and per claim."""
        self._clock = ManualClock()
        rng = Rng(config.seed)
        self._store = MemoryStore(self._clock, rng.child("store"))
        #: The plane.
        self.plane = Plane(config, self._store, self._clock)
        self._binding = BinderTime(commit_s)
        self._slow_planning: list[SlowPlanning] = []
        for loop in [shard.default for shard in self.plane.shards]:
            slow = SlowPlanning(loop, self._clock, decision_s, self._binding)
            # Replaces the method of the instance, as a stopwatch does.
            setattr(loop, "cycle", slow.cycle)  # noqa: B010
            self._slow_planning.append(slow)
        self._last = 0.0
        self.plane.observers.append(self._observe)

    def run(self, nodes: Sequence[bytes], pods: Sequence[bytes]) -> float:
        """Place a backlog; return the virtual seconds until the last pod was placed."""
        for kind, bodies in ((NODE, nodes), (POD, pods)):
            create_all(self._store, kind, bodies)
        while self.plane.pump.poll(0.0, AT_ONCE):
            pass
        left = len(pods)
        while left:
            self.plane.run_until_idle()
            due = min(self.plane.next_due(), *(each.due for each in self._slow_planning))
            left = len(pods) - self.plane.binder.counts["bound"]
            if due == inf:
                break
            self._clock.set(max(due, self._clock.monotonic() + CLOSE))
        return self._last

    def _observe(self, step: Step) -> None:
        """Record the time at which the binder has finished the claims of a step."""
        if any(len(verdict.granted) for verdict in step.verdicts):
            claims = sum(len(plan.rows) for plan in step.plans)
            self._last = step.now + claims * self._binding.commit_s
