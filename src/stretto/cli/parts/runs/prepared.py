"""The input of ``stretto run``: its options, and the resulting scenario, store and plane."""

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from stretto.base.errors import UnknownNameError
from stretto.cli.bundled.examples import example_names, example_path
from stretto.cli.options import CommandContext, ExistingPath, completes

if TYPE_CHECKING:
    from stretto.inputs.scenario.schema import Scenario
    from stretto.plane.copy import SchedulingRules
    from stretto.sim.counters import StepCounters
    from stretto.sim.elasticity.controllers import RunControllers
    from stretto.sim.elasticity.scaling import ReplicaMove
    from stretto.sim.feeder import Feeder
    from stretto.sim.fitting.tides import SwitchReport
    from stretto.sim.occupancy import OccupancyTimeline
    from stretto.sim.real_time import LiveRun
    from stretto.sim.setup import LiveSite


class ScenarioPath(ExistingPath):
    """Path of a scenario, or the name of a bundled example."""

    def __init__(self) -> None:
        super().__init__(exists=True, dir_okay=True, readable=True, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path; the name of an example becomes the path of its scenario."""
        text = str(value)
        if text in example_names() and not Path(text).is_file():
            return example_path(text)
        if "/" not in text and "." not in text and not Path(text).exists():
            raise UnknownNameError("scenario or example", text, example_names())
        if Path(text).stem in example_names() and not Path(text).exists():
            hint = f"did you mean the bundled example {Path(text).stem}?"
            self.fail(f"{text} does not exist; {hint}", param, ctx)
        return super().convert(value, param, ctx)


SCENARIO: Final = click.argument(
    "scenario", type=ScenarioPath(), shell_complete=completes("examples")
)
"""The scenario argument."""


@dataclass(frozen=True)
class RunOptions:
    """Options of ``run``."""

    #: Path of the scenario.
    scenario: Path
    #: ``memory`` or ``sqlite:PATH``.
    store: str
    #: Number of shards; ``None`` for that of the scenario.
    shards: int | None
    #: Policy that replaces that of the scenario; empty keeps it.
    policy: str
    #: Profile that replaces that of the scenario; empty keeps it.
    profile: str
    #: Scenario seconds per second; ``None`` for the value of the scenario.
    speed: float | None
    #: True if unplaced pods are an error.
    require_all: bool
    #: True if plots are drawn.
    plots: bool
    #: Kernels: ``auto``, ``numba`` or ``numpy``.
    tier: str
    #: Files with rules that the profile may name.
    plugin: tuple[Path, ...]
    #: True if events and conditions are written; ``None`` for durable stores only.
    events: bool | None
    #: Metrics file; ``None`` for none.
    metrics_file: Path | None
    #: Metrics port on loopback; ``None`` for none.
    metrics_port: int | None


@dataclass(frozen=True)
class ScenarioRun:
    """A scenario that is ready to run."""

    #: The scenario, with the overrides of the options.
    scenario: "Scenario"
    #: Sources of its profile.
    rules: "SchedulingRules"
    #: Store and plane of the run.
    site: "LiveSite"
    #: Feed that submits the objects of the scenario.
    feeder: "Feeder"
    #: Number of pods in the scenario.
    pods: int
    #: Seconds of the scenario per second of the plane's clock.
    speed: float
    #: The controllers of the scenario; ``None`` if there are none.
    controllers: "RunControllers | None"
    #: Sentences about omitted objects of manifests.
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class FinishedRun:
    """A finished run, with all data of its report."""

    #: The scenario.
    scenario: "Scenario"
    #: Sources of its profile.
    rules: "SchedulingRules"
    #: Store and plane.
    site: "LiveSite"
    #: The run.
    live: "LiveRun"
    #: Counters of the run.
    counters: "StepCounters"
    #: Occupancy over time.
    timeline: "OccupancyTimeline"
    #: Switches of nodes between the sides of tidal pools.
    switches: "Sequence[SwitchReport]"
    #: Changes of the replicas of scaling groups.
    moves: "Sequence[ReplicaMove]"
    #: True if the run resumed an interrupted run.
    resumed: bool
    #: True if the run was interrupted.
    partial: bool


def ran_as_fleet(common: CommandContext, opts: RunOptions) -> bool:
    """Run a fleet file; return False for any other scenario.

    Raises:
        InputError: the file is invalid.
        DoesNotFitError: replicas fit in no cluster, and all are required.
    """
    from stretto.cli.views.fleet_run import ran_fleet

    return ran_fleet(common.console, opts.scenario, require_all=opts.require_all)


def loaded_scenario(common: CommandContext, opts: RunOptions) -> "Scenario":
    """Load and check the scenario, with the overrides of the options.

    Raises:
        InputError: the scenario or its profile is invalid.
        UnknownNameError: a policy is unknown.
    """
    from stretto.inputs.scenario.checks import check_scenario
    from stretto.inputs.scenario.read import load_scenario
    from stretto.sim.history.file_kinds import FileKind, expect_kind
    from stretto.sim.options import profile_source
    from stretto.sim.setup import overridden

    expect_kind(opts.scenario, FileKind.SCENARIO)
    scenario = overridden(
        load_scenario(opts.scenario),
        seed=common.seed if common.seed_given else None,
        shards=opts.shards,
        speed=opts.speed,
    )
    check_scenario(scenario)
    profile_source(scenario, opts.policy, opts.profile, opts.plugin)
    return scenario


@contextmanager
def prepared_run(scenario: "Scenario", opts: RunOptions) -> Iterator[ScenarioRun]:
    """Build the store and the plane of a scenario; the store is closed at the end of the block.

    Raises:
        InputError: the profile or the store is invalid.
        UnknownNameError: a policy or rule is unknown.
    """
    from stretto.base.clock import BEGIN, WallClock
    from stretto.base.rng import Rng
    from stretto.inputs.scenario.feed import materialise
    from stretto.plane.copy import SchedulingRules
    from stretto.sim.elasticity.clocks import has_controllers, run_time
    from stretto.sim.elasticity.controllers import RunControllers
    from stretto.sim.feeder import Feeder
    from stretto.sim.options import open_store, profile_source
    from stretto.sim.setup import build_site

    source = profile_source(scenario, opts.policy, opts.profile, opts.plugin)
    rng = Rng(scenario.seed)
    feed = materialise(scenario, rng)
    machine, controlled = WallClock(), has_controllers(feed)
    # A file may contain objects of an earlier run, whose times must lie before this run.
    begin = BEGIN if opts.store == "memory" else int(machine.now())
    time = run_time(feed, machine, scenario.speed, begin)
    with closing(open_store(opts.store, time.clock, rng.child("store"))) as store:
        feeder = Feeder(feed, store, scenario.name)
        events = opts.store != "memory" if opts.events is None else opts.events
        # controllers read the conditions of pending pods
        rules = SchedulingRules(source, opts.tier, events or controlled, opts.plugin)
        site = build_site(scenario, feed, rules, store, time.clock)
        controllers = RunControllers(site, time) if controlled else None
        notes = tuple(feed.notes)
        yield ScenarioRun(scenario, rules, site, feeder, feed.pods, time.speed, controllers, notes)


def live_run(ready: ScenarioRun) -> "tuple[LiveRun, OccupancyTimeline]":
    """Create the run of a scenario that has not started yet, and its occupancy over time."""
    import msgspec

    from stretto.framework.profile.profile import load_profile
    from stretto.plane.warming import load_kernels
    from stretto.sim.occupancy import OccupancyTimeline
    from stretto.sim.real_time import LiveRun

    plane = ready.site.plane
    # before the time of the run begins, and without the calls of its own rules
    config = msgspec.structs.replace(plane.config, profile=load_profile("default"))
    load_kernels(config, plane.clock)
    live = LiveRun(plane, ready.feeder, plane.clock, ready.speed, ready.controllers)
    return live, OccupancyTimeline(plane, live.seconds_at)
