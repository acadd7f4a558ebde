"""A plane over an in-memory copy of a state, in virtual time: what-if trials without side effects.

A state is the content of a store and the profile of its scheduler. ``plan``, ``explain`` and
capacity trials use such copies; ``sim.history`` provides the states.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NamedTuple

from stretto.api.codec import decode_as
from stretto.api.types.godel import Queue
from stretto.api.types.heads import decode_object_head
from stretto.api.types.workload_groups import FORMS
from stretto.api.wire.kinds import POD_GROUP, QUEUE, Kind
from stretto.base.clock import Clock, ManualClock, parse_timestamp
from stretto.base.errors import InputError
from stretto.base.rng import Rng
from stretto.control.dispatcher.membership import group_unit
from stretto.control.queues.config import dispatcher_config, queue_config
from stretto.control.reporting.reporter import ReportConfig
from stretto.framework.profile.load import known_rules
from stretto.framework.profile.profile import Profile, load_profile
from stretto.plane.config import PlaneConfig
from stretto.plane.plane import Plane
from stretto.state.cluster.config import SCHEDULER_NAME, ClusterConfig
from stretto.state.rows.lifecycle import PodState, UnitState
from stretto.stores.embedded.memory import MemoryStore
from stretto.stores.store import Record, Store

_LONGEST_DELAY: Final = 60.0
"""Seconds of virtual time for which a copy waits for delays before it counts as settled."""

ProfileSource = str | dict[str, Any]
"""The source of a profile: a name, or a mapping."""


class SchedulingRules(NamedTuple):
    """The rules of a plane."""

    #: Source of the profile.
    source: ProfileSource
    #: Kernel tier: ``auto``, ``numba`` or ``numpy``.
    tier: str = "auto"
    #: True if conditions and events of pending pods are written to the store.
    events: bool = False
    #: Files with rules that the profile may name.
    plugins: tuple[Path, ...] = ()


class PlaneSettings(NamedTuple):
    """Settings of a plane apart from its rules."""

    #: Number of scheduler shards.
    shards: int = 1
    #: Seed of all random numbers of the plane.
    seed: int = 0
    #: Values of a pod's ``schedulerName`` that it schedules, in addition to its profile's.
    scheduler_names: frozenset[str] = frozenset({SCHEDULER_NAME})
    #: True if the use of queues is counted even if no policy needs it.
    counts_use: bool = False
    #: PodGroups of other schedulers that its store has: keys of ``workload_groups.FORMS``.
    group_forms: tuple[Kind, ...] = ()


def build_plane(
    rules: SchedulingRules,
    settings: PlaneSettings,
    queues: Sequence[Queue],
    store: Store,
    clock: Clock,
) -> Plane:
    """Build a plane over a store, from named rules and Queue objects."""
    profile: Profile = load_profile(rules.source, known_rules(rules.plugins))
    dispatcher = dispatcher_config(profile).having(map(queue_config, queues))
    if settings.counts_use:
        dispatcher = replace(dispatcher, always_counts=True)
    config = PlaneConfig(
        profile=profile,
        shards=settings.shards,
        cluster=ClusterConfig(scheduler_names=settings.scheduler_names),
        dispatcher=dispatcher,
        seed=settings.seed,
        group_forms=settings.group_forms,
        tier=rules.tier,
        report=ReportConfig() if rules.events else None,
    )
    return Plane(config, store, clock)


class StoreState(NamedTuple):
    """The objects of a store, and the rules with which they were scheduled."""

    #: Origin for display, such as ``run 2024...-quickstart``.
    title: str
    #: Every object.
    records: list[Record]
    #: Source of its profile.
    profile: ProfileSource = "default"
    #: Number of shards, and seed of the plane.
    settings: PlaneSettings = PlaneSettings()
    #: Wall time of the state in seconds; ``None`` if unknown.
    at: float | None = None

    def counting_use(self) -> "StoreState":
        """Return the same state; a plane over it counts the use of every queue."""
        return self._replace(settings=self.settings._replace(counts_use=True))


class PlaneCopy:
    """A plane over a copy of a state, in virtual time."""

    def __init__(self, state: StoreState, rules: SchedulingRules | None = None) -> None:
        """Copy a state; no pod is scheduled yet.

        Args:
            state: the objects to copy.
            rules: rules that replace those of the state.
        """
        #: The copied state.
        self.state = state
        #: Virtual time.
        self.clock = ManualClock()
        #: In-memory copy of the store.
        self.store = MemoryStore(self.clock, Rng(state.settings.seed).child("copy"))
        self.store.seed(state.records)
        queues = [decode_as(Queue, each.body) for each in state.records if each.kind == QUEUE]
        chosen = rules or SchedulingRules(state.profile)
        forms = tuple(FORMS.keys() & {each.kind for each in state.records})
        settings = state.settings._replace(group_forms=forms)
        #: The scheduler over the copy.
        self.plane: Plane = build_plane(chosen, settings, queues, self.store, self.clock)

    def look(self) -> None:
        """Read the copy into the plane without scheduling."""
        self.plane.look()

    def settle(self, longest_delay: float = _LONGEST_DELAY) -> None:
        """Schedule until idle, including delays of up to ``longest_delay`` virtual seconds."""
        end = self.clock.monotonic() + longest_delay
        self.plane.run_until_idle()
        while (due := self.plane.next_due()) <= end and self.clock.monotonic() < end:
            self.clock.advance(max(due - self.clock.monotonic(), 0.1))
            self.plane.run_until_idle()

    def drop_backoff(self) -> None:
        """Mark units in back-off as unschedulable: the delays belong to the trial, not the state.

        No pod can be scheduled on this copy afterwards.
        """
        pods = self.plane.cluster.pods
        states = pods.state[: pods.length]
        states[states == PodState.BACKOFF] = PodState.UNSCHEDULABLE
        for unit in self.plane.units:
            if unit.state is UnitState.BACKOFF:
                unit.state = UnitState.UNSCHEDULABLE

    def backdate_groups(self) -> None:
        """Count the waiting time of PodGroups from their creation, if the state has a time."""
        if self.state.at is None:
            return
        for record in self.state.records:
            if record.kind != POD_GROUP:
                continue
            unit = self.plane.units.by_identity.get(group_unit(f"{record.namespace}/{record.name}"))
            created = decode_object_head(record.body).metadata.creation_timestamp
            if unit is None or not created:
                continue
            try:
                unit.deadline -= max(0.0, self.state.at - parse_timestamp(created))
            except InputError:
                continue  # without a valid time, the group counts as created now

    def create(self, objects: Iterable[tuple[Kind, bytes]]) -> list[str]:
        """Create objects in the copy; returns the error messages of refused objects."""
        refused = []
        for kind, body in objects:
            (reply,) = self.store.create(kind, [body])
            if reply.record is None:
                refused.append(reply.message or reply.code.value)
        return refused
