"""The state that a command line names, for a plane on a copy (``stretto.plane.copy``).

A state is the end of a run by its record, a durable store on disk, or the end of a scenario that
runs in virtual time first.
"""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

from stretto.api.kinds.table import all_kinds
from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.explain.records.record_file import RecordFile
from stretto.explain.records.records import RunRecords
from stretto.inputs.scenario.feed import materialise
from stretto.inputs.scenario.read import load_scenario
from stretto.plane.copy import PlaneSettings, SchedulingRules, StoreState
from stretto.sim.feeder import Feeder
from stretto.sim.real_time import LiveRun
from stretto.sim.setup import build_site, profile_source
from stretto.stores.embedded.memory import MemoryStore
from stretto.stores.embedded.sqlite import read_store
from stretto.stores.store import Record, Store

SQLITE: Final = "sqlite:"
"""Prefix that names a durable store."""
OWN_RULES: Final = SchedulingRules("")
"""A scenario's own profile, with the installed kernels."""
_SCENARIOS: Final = (".yaml", ".yml")


def state_of(spelled: str = "", rules: SchedulingRules = OWN_RULES) -> StoreState:
    """The state that a command line names.

    Args:
        spelled: ``sqlite:PATH``, the path of a scenario's file, or a run record by its name, the
            end of its name or its path; empty for the latest record.
        rules: kernels and plugins for a scenario that runs first; its profile is its own.

    Raises:
        NotFoundError: there is no record of that name.
        InputError: a file cannot be used.
        UnreachableError: another process has the store open.
    """
    if spelled.startswith(SQLITE):
        path = Path(spelled.removeprefix(SQLITE))
        return StoreState(f"store {path}", read_store(path))
    if spelled.endswith(_SCENARIOS):
        return _end_of(Path(spelled), rules)
    return _recorded(RunRecords().find(spelled))


def _recorded(path: Path) -> StoreState:
    """The end of a run by its record."""
    with closing(RecordFile(path)) as file:
        facts = file.facts()
        records = [record for kind in all_kinds() for record in file.objects(kind)]
    settings = PlaneSettings(facts.shards, facts.seed, frozenset(facts.scheduler_names))
    return StoreState(f"run {facts.name}", records, facts.profile, settings)


def _end_of(path: Path, rules: SchedulingRules) -> StoreState:
    """The end of a scenario that runs in virtual time until it is idle."""
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
    return StoreState(f"scenario {path}", list(_all(store)), source, settings)


def _all(store: Store) -> Iterator[Record]:
    """Every object of a store."""
    for kind in all_kinds():
        yield from store.list(kind).records
