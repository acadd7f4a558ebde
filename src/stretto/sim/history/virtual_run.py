"""Runs a scenario in virtual time until it is idle."""

from pathlib import Path
from typing import NamedTuple

from stretto.base.rng import Rng
from stretto.inputs.scenario.feed import materialise
from stretto.inputs.scenario.read import load_scenario
from stretto.inputs.scenario.schema import Scenario
from stretto.plane.copy import ProfileSource, SchedulingRules
from stretto.sim.elasticity.clocks import has_controllers, virtual_time
from stretto.sim.elasticity.controllers import RunControllers
from stretto.sim.feeder import Feeder
from stretto.sim.options import profile_source
from stretto.sim.real_time import LiveRun
from stretto.sim.setup import LiveSite, build_site
from stretto.stores.embedded.memory import MemoryStore


class EndedScenario(NamedTuple):
    """A scenario after its run."""

    #: The scenario.
    scenario: Scenario
    #: Source of its profile.
    source: ProfileSource
    #: Its objects and its scheduler.
    site: LiveSite
    #: Its run.
    live: LiveRun


def run_scenario(path: Path, rules: SchedulingRules) -> EndedScenario:
    """Run a scenario in virtual time until it is idle.

    Args:
        path: file of the scenario.
        rules: kernels and plugins; the profile is the scenario's own.

    Raises:
        InputError: the file cannot be used.
    """
    scenario = load_scenario(path)
    source = profile_source(scenario, plugins=rules.plugins)
    rng = Rng(scenario.seed)
    feed = materialise(scenario, rng)
    time, controlled = virtual_time(feed), has_controllers(feed)
    store = MemoryStore(time.clock, rng.child("store"))
    feeder = Feeder(feed, store, scenario.name)
    rules = rules._replace(source=source, events=rules.events or controlled)
    site = build_site(scenario, feed, rules, store, time.clock)
    controllers = RunControllers(site, time) if controlled else None
    live = LiveRun(site.plane, feeder, time.clock, time.speed, controllers)
    live.run()
    return EndedScenario(scenario, source, site, live)
