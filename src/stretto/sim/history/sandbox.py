"""A state of the past, with a plane of its own over a copy: to try things and change nothing.

A state is what some store held: the end of a run by its record, a durable store as it lies on disk,
or the end of a scenario that is run in virtual time first. The copy lives in memory.
"""

from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Final, NamedTuple

from stretto.api.codec import decode_as
from stretto.api.kinds.table import all_kinds
from stretto.api.types.godel import Queue
from stretto.api.types.heads import decode_object_head
from stretto.api.wire.kinds import POD_GROUP, QUEUE, Kind
from stretto.base.clock import ManualClock, parse_timestamp
from stretto.base.errors import InputError
from stretto.base.rng import Rng
from stretto.control.dispatcher.membership import group_unit
from stretto.explain.records.record_file import RecordFile
from stretto.explain.records.records import RunRecords
from stretto.inputs.scenario.feed import materialise
from stretto.inputs.scenario.read import load_scenario
from stretto.plane.plane import Plane
from stretto.sim.feeder import Feeder
from stretto.sim.real_time import LiveRun
from stretto.sim.setup import (
    PlaneSettings,
    ProfileSource,
    SchedulingRules,
    build_plane,
    build_site,
    profile_source,
)
from stretto.state.rows.lifecycle import PodState, UnitState
from stretto.stores.embedded.memory import MemoryStore
from stretto.stores.embedded.sqlite import read_store
from stretto.stores.store import Record, Store

SQLITE: Final = "sqlite:"
"""What the spelling of a durable store begins with."""
OWN_RULES: Final = SchedulingRules("")
"""A scenario's own profile, with whatever kernels are installed."""
_SCENARIOS: Final = (".yaml", ".yml")
_PATIENCE: Final = 60.0
"""Seconds of virtual time for which a copy waits out delays before it counts as settled."""


class SandboxState(NamedTuple):
    """What some store held, and the rules that it was scheduled by."""

    #: Where it comes from, for people: ``run 2024...-quickstart``.
    title: str
    #: Every object.
    records: list[Record]
    #: What its profile is made from.
    profile: ProfileSource = "default"
    #: Shards and seed of its plane.
    settings: PlaneSettings = PlaneSettings()
    #: Wall time at which it was so, in seconds; ``None`` where time stands still.
    at: float | None = None


def state_of(spelled: str = "", rules: SchedulingRules = OWN_RULES) -> SandboxState:
    """The state that a command line names.

    Args:
        spelled: ``sqlite:PATH``, the path of a scenario's file, or a run record by its name, the
            end of its name or its path; empty for the latest record.
        rules: kernels and plugins for a scenario that is run first; its profile is its own.

    Raises:
        NotFoundError: no record of that name.
        InputError: a file cannot be used.
        UnreachableError: another process has the store open.
    """
    if spelled.startswith(SQLITE):
        path = Path(spelled.removeprefix(SQLITE))
        return SandboxState(f"store {path}", read_store(path))
    if spelled.endswith(_SCENARIOS):
        return _end_of(Path(spelled), rules)
    return _recorded(RunRecords().find(spelled))


def _recorded(path: Path) -> SandboxState:
    """The end of a run by its record."""
    with closing(RecordFile(path)) as file:
        facts = file.facts()
        records = [record for kind in all_kinds() for record in file.objects(kind)]
    settings = PlaneSettings(facts.shards, facts.seed, frozenset(facts.scheduler_names))
    return SandboxState(f"run {facts.name}", records, facts.profile, settings)


def _end_of(path: Path, rules: SchedulingRules) -> SandboxState:
    """A scenario, run in virtual time until nothing more can happen."""
    scenario = load_scenario(path)
    source = profile_source(scenario, plugins=rules.plugins)
    rng, clock = Rng(scenario.seed), ManualClock()
    feed = materialise(scenario, rng)
    store = MemoryStore(clock, rng.child("store"))
    feeder = Feeder(feed, store, scenario.name)
    site = build_site(scenario, feed, rules._replace(source=source), store, clock)
    LiveRun(site.plane, feeder, clock, speed=0.0).run()
    settings = PlaneSettings(
        scenario.shards, scenario.seed, site.plane.cluster.config.scheduler_names
    )
    return SandboxState(f"scenario {path}", list(_all(store)), source, settings)


def _all(store: Store) -> Iterator[Record]:
    """Every object of a store."""
    for kind in all_kinds():
        yield from store.list(kind).records


class Sandbox:
    """A plane over a copy of a state, in virtual time."""

    def __init__(self, state: SandboxState, rules: SchedulingRules | None = None) -> None:
        """Copy a state; nothing is scheduled yet.

        Args:
            state: what the store held.
            rules: other rules than its own.
        """
        #: The state it is a copy of.
        self.state = state
        #: Virtual time.
        self.clock = ManualClock()
        self.store = MemoryStore(self.clock, Rng(state.settings.seed).child("copy"))
        self.store.seed(state.records)
        queues = [decode_as(Queue, each.body) for each in state.records if each.kind == QUEUE]
        chosen = rules or SchedulingRules(state.profile)
        #: The scheduler over it.
        self.plane: Plane = build_plane(chosen, state.settings, queues, self.store, self.clock)

    def look(self) -> None:
        """Let the plane see what there is; it decides nothing."""
        self.plane.look()

    def settle(self, patience: float = _PATIENCE) -> None:
        """Schedule until nothing moves, waiting out delays for some seconds of virtual time."""
        end = self.clock.monotonic() + patience
        self.plane.run_until_idle()
        while (due := self.plane.next_due()) <= end and self.clock.monotonic() < end:
            self.clock.advance(max(due - self.clock.monotonic(), 0.1))
            self.plane.run_until_idle()

    def rest(self) -> None:
        """Wait for nothing more: delays are those of the trial, and the state knows none of them.

        What waits out a delay has found no room; nothing is scheduled on this copy any more.
        """
        pods = self.plane.cluster.pods
        states = pods.state[: pods.length]
        states[states == PodState.BACKOFF] = PodState.UNSCHEDULABLE
        for unit in self.plane.units:
            if unit.state is UnitState.BACKOFF:
                unit.state = UnitState.UNSCHEDULABLE

    def backdate_groups(self) -> None:
        """Let groups have waited since they were created, where it is known what time it is."""
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
                continue  # no time: it counts as made now

    def create(self, objects: Iterable[tuple[Kind, bytes]]) -> list[str]:
        """Submit objects; returns what the store said of those that it refused."""
        refused = []
        for kind, body in objects:
            (reply,) = self.store.create(kind, [body])
            if reply.record is None:
                refused.append(reply.message or reply.code.value)
        return refused
