"""The final state of a scenario that runs in virtual time, as the input of plans and questions."""

from collections.abc import Iterator
from pathlib import Path

from stretto.api.kinds.table import all_kinds
from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.inputs.scenario.feed import materialise
from stretto.inputs.scenario.read import load_scenario
from stretto.plane.copy import PlaneSettings, SchedulingRules, StoreState
from stretto.sim.feeder import Feeder
from stretto.sim.options import profile_source
from stretto.sim.real_time import LiveRun
from stretto.sim.setup import build_site
from stretto.stores.embedded.memory import MemoryStore
from stretto.stores.store import Record, Store


def end_of_scenario(path: Path, rules: SchedulingRules) -> StoreState:
    """Run a scenario in virtual time until it is idle; returns the final state.

    Args:
        path: file of the scenario.
        rules: kernels and plugins; the profile is the scenario's own.

    Raises:
        InputError: the file cannot be used.
    """
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
