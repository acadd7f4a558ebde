"""A scenario that runs in virtual time first: its final state, or its record."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from stretto.api.kinds.table import all_kinds
from stretto.base.clock import ManualClock, timestamp
from stretto.base.rng import Rng
from stretto.explain.records.record_file import RecordSources, RunFacts, write_record
from stretto.inputs.scenario.feed import materialise
from stretto.inputs.scenario.read import load_scenario
from stretto.inputs.scenario.schema import Scenario
from stretto.plane.copy import PlaneSettings, ProfileSource, SchedulingRules, StoreState
from stretto.plane.plane import Plane
from stretto.sim.feeder import Feeder
from stretto.sim.options import profile_source
from stretto.sim.real_time import LiveRun
from stretto.sim.setup import build_site
from stretto.stores.embedded.memory import MemoryStore
from stretto.stores.store import Record, Store


class _Ended(NamedTuple):
    """A scenario after its run."""

    #: The scenario.
    scenario: Scenario
    #: Source of its profile.
    source: ProfileSource
    #: Its objects.
    store: Store
    #: Its scheduler.
    plane: Plane
    #: Its run.
    live: LiveRun


def end_of_scenario(path: Path, rules: SchedulingRules) -> StoreState:
    """Run a scenario in virtual time until it is idle; returns the final state.

    Args:
        path: file of the scenario.
        rules: kernels and plugins; the profile is the scenario's own.

    Raises:
        InputError: the file cannot be used.
    """
    ended = _run(path, rules)
    settings = PlaneSettings(
        ended.scenario.shards, ended.scenario.seed, ended.plane.cluster.config.scheduler_names
    )
    return StoreState(f"scenario {path}", list(_all(ended.store)), ended.source, settings)


def record_scenario(path: Path, rules: SchedulingRules, target: Path) -> None:
    """Run a scenario in virtual time until it is idle, and write its run record.

    Args:
        path: file of the scenario.
        rules: kernels and plugins; the profile is the scenario's own.
        target: file of the record.

    Raises:
        InputError: a file cannot be used.
    """
    scenario, source, store, plane, live = _run(path, rules)
    facts = RunFacts(
        name=str(path),
        source=str(path),
        started=timestamp(plane.clock.now() - live.seconds),
        seconds=live.seconds,
        seed=scenario.seed,
        shards=scenario.shards,
        profile=source,
        plugins=tuple(str(each.resolve()) for each in rules.plugins),
        scheduler_names=tuple(sorted(plane.cluster.config.scheduler_names)),
        steps_dropped=live.recorder.dropped,
        queues=tuple(plane.dispatcher.views.queues()),
    )
    parts = RecordSources(
        store, plane.cluster, plane.units, live.recorder, live.start, live.failures,
        plane.dispatcher.views,
    )  # fmt: skip
    write_record(target, facts, parts)


def _run(path: Path, rules: SchedulingRules) -> _Ended:
    """Run a scenario until it is idle."""
    scenario = load_scenario(path)
    source = profile_source(scenario, plugins=rules.plugins)
    rng, clock = Rng(scenario.seed), ManualClock()
    feed = materialise(scenario, rng)
    store = MemoryStore(clock, rng.child("store"))
    feeder = Feeder(feed, store, scenario.name)
    site = build_site(scenario, feed, rules._replace(source=source), store, clock)
    live = LiveRun(site.plane, feeder, clock, speed=0.0)
    live.run()
    return _Ended(scenario, source, store, site.plane, live)


def _all(store: Store) -> Iterator[Record]:
    """Every object of a store."""
    for kind in all_kinds():
        yield from store.list(kind).records
