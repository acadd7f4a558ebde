"""Tidal pools in a run: the clock of the scenario, what switches, and when the run ends."""

import json
from math import inf
from pathlib import Path

import pytest

from stretto.api.wire.kinds import NODE
from stretto.base.clock import BEGIN, ManualClock, PacedClock
from stretto.base.errors import InputError
from stretto.base.rng import Rng
from stretto.inputs.objects.manifests import ManifestOptions, load_objects
from stretto.inputs.scenario.feed import Feed, materialise
from stretto.inputs.scenario.read import load_scenario
from stretto.plane.copy import SchedulingRules
from stretto.sim.elasticity.clocks import run_time
from stretto.sim.elasticity.controllers import RunControllers
from stretto.sim.feeder import Feeder
from stretto.sim.history.virtual_run import run_scenario
from stretto.sim.real_time import LiveRun
from stretto.sim.setup import build_site
from stretto.stores.embedded.memory import MemoryStore

RULES = SchedulingRules("default", "numpy", events=True)


def feed_of(path: Path) -> Feed:
    return materialise(load_scenario(path), Rng(0))


def test_a_scenario_without_pools_keeps_the_clock_of_the_machine(repo_root: Path) -> None:
    clock = ManualClock()
    assert run_time(feed_of(repo_root / "examples/pending.yaml"), clock, 2.0) == (clock, 2.0, 0.1)


def test_a_scenario_with_pools_has_one_clock_in_its_own_seconds(repo_root: Path) -> None:
    feed, machine = feed_of(repo_root / "examples/tidal.yaml"), ManualClock(50.0)
    fast, virtual = run_time(feed, machine, 10.0), run_time(feed, machine, 0.0)
    machine.advance(3.0)
    assert isinstance(fast.clock, PacedClock)
    assert (fast.clock.monotonic(), fast.speed, fast.longest_sleep) == (80.0, 1.0, 1.0)
    assert (virtual.clock.now(), virtual.clock.monotonic(), virtual.longest_sleep) == (
        BEGIN,
        0,
        inf,
    )


def played(path: Path) -> tuple[RunControllers, float]:
    """The controllers after the run of a scenario, and its virtual seconds."""
    scenario, feed = load_scenario(path), feed_of(path)
    time = run_time(feed, ManualClock(), 0.0)
    store = MemoryStore(time.clock, Rng(0))
    site = build_site(scenario, feed, RULES, store, time.clock)
    controllers = RunControllers(site, time)
    LiveRun(site.plane, Feeder(feed, store, "s"), time.clock, time.speed, controllers).run()
    return controllers, time.clock.monotonic()


def test_nodes_switch_for_a_service_and_back_after_it(repo_root: Path) -> None:
    controllers, seconds = played(repo_root / "examples/tidal.yaml")
    at = [(each.to, each.seconds, len(each.evicted)) for each in controllers.switches]
    assert at[3:] == [("online", 3610.0, 2), ("offline", 5710.0, 0)]
    assert seconds == pytest.approx(5710 + 300 + 30, abs=20)


def test_replicas_go_to_the_groups_that_can_run_them(repo_root: Path) -> None:
    controllers, seconds = played(repo_root / "examples/groups.yaml")
    last = {each.group: each.after for each in controllers.moves}
    assert (last, controllers.switches) == ({"east": 4, "west": 1, "cloud": 1}, [])
    assert seconds < 300


def test_a_service_over_a_trace_fills_its_pool_then_the_cloud(repo_root: Path) -> None:
    controllers, _ = played(repo_root / "examples/elastic.yaml")
    most = {e.group: max(x.after for x in controllers.moves if x.group == e.group)
            for e in controllers.moves}  # fmt: skip
    assert most == {"pool": 8, "cloud": 9}
    assert [each.to for each in controllers.switches].count("online") == 2


def test_a_scenario_refuses_a_group_of_a_kind_that_it_cannot_scale(tmp_path: Path) -> None:
    policy = {"groups": [{"name": "g", "max": 1, "targetRef": {"kind": "DaemonSet", "name": "s"}}]}
    kind = {"apiVersion": "autoscaling.stretto.dev/v1alpha1", "kind": "ScalingPolicy"}
    body = {**kind, "metadata": {"name": "p"}, "spec": policy}
    (tmp_path / "p.yaml").write_text(json.dumps(body))
    with pytest.raises(InputError, match=r"targetRef\.kind: got 'DaemonSet', expected "):
        load_objects([tmp_path / "p.yaml"], ManifestOptions(keeps_scaled=True))


def test_the_state_of_such_a_scenario_is_the_end_of_its_run(repo_root: Path) -> None:
    ended = run_scenario(repo_root / "examples/tidal.yaml", RULES._replace(events=False))
    bodies = [each.body for each in ended.site.store.list(NODE).records]
    assert sum(b'"tide.katalyst.kubewharf.io/node-type":"offline"' in each for each in bodies) == 4
