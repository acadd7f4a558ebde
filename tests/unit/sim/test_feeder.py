"""A feed into a store: batches, the marker, going on, and what a store must not hold."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from stretto.api.wire.kinds import CONFIG_MAP, NODE, POD, POD_GROUP
from stretto.base.clock import ManualClock
from stretto.base.errors import InputError, UnreachableError
from stretto.base.rng import Rng
from stretto.explain.records.recorder import StepKind
from stretto.framework.profile.profile import load_profile
from stretto.inputs.scenario.arrivals import ObjectArrival
from stretto.inputs.scenario.feed import Feed, materialise
from stretto.inputs.scenario.read import load_scenario
from stretto.plane.config import PlaneConfig
from stretto.plane.plane import Plane
from stretto.sim.feeder import MARKER, Feeder, identity_of
from stretto.sim.options import open_store, profile_source
from stretto.sim.real_time import LiveRun, RunSample
from stretto.sim.writes import check_written
from stretto.stores.embedded.memory import MemoryStore
from stretto.stores.store import Reply, StatusReason, Store, WriteOutcome
from stretto.testing import make_group, make_node, make_pod


def pod(name: str, time_s: float = 0.0, **more: Any) -> ObjectArrival:
    return ObjectArrival(time_s, POD, "default", name, make_pod(name, cpu="1"), **more)


def a_feed(*arrivals: ObjectArrival, nodes: int = 2) -> Feed:
    objects = [(NODE, make_node(f"n{i}", cpu="4")) for i in range(nodes)]
    return Feed(objects, sorted(arrivals, key=lambda each: each.time_s), ())


def a_store() -> MemoryStore:
    return MemoryStore(ManualClock(), Rng(0))


def names(store: Store) -> list[str]:
    return [record.name for record in store.list(POD).records]


def test_what_is_there_before_the_start_is_written_at_once() -> None:
    store = a_store()
    Feeder(a_feed(), store, "s")
    assert [record.name for record in store.list(NODE).records] == ["n0", "n1"]


def test_arrivals_are_written_when_their_second_has_come() -> None:
    store = a_store()
    feeder = Feeder(a_feed(pod("a", 1), pod("b", 5)), store, "s")
    assert (feeder.feed(0.5), feeder.feed(1.0), names(store)) == (0, 1, ["a"])
    assert feeder.next_due() == 5


def test_a_pod_ends_at_its_second() -> None:
    store = a_store()
    feeder = Feeder(a_feed(pod("a", 0, departure_s=3)), store, "s")
    feeder.feed(0)
    feeder.feed(3)
    assert names(store) == []


def test_a_pod_with_a_run_time_ends_that_long_after_its_start() -> None:
    store = a_store()
    feeder = Feeder(a_feed(pod("a", 0, duration_s=2)), store, "s")
    feeder.feed(0)
    feeder.started("default/a", 7)
    assert feeder.next_due() == 9
    feeder.feed(9)
    assert names(store) == []


def test_a_group_comes_before_its_pods() -> None:
    store = a_store()
    group = ObjectArrival(0, POD_GROUP, "default", "g", make_group("g", 1))
    Feeder(a_feed(pod("a"), group), store, "s").feed(0)
    versions = [store.list(kind).records[0].version for kind in (POD_GROUP, POD)]
    assert versions == sorted(versions)


def test_a_second_feeder_goes_on_and_writes_nothing_twice() -> None:
    store, feed = a_store(), a_feed(pod("a", 0), pod("b", 4), pod("c", 8))
    first = Feeder(feed, store, "s")
    first.feed(0)
    first.feed(5)
    again = Feeder(feed, store, "s")
    assert (again.resumed, again.resumed_at, again.pods) == (True, 5.0, 2)
    again.feed(8)
    assert names(store) == ["a", "b", "c"]


def test_what_has_left_does_not_come_again() -> None:
    store, feed = a_store(), a_feed(pod("a", 0, departure_s=2), pod("b", 0))
    first = Feeder(feed, store, "s")
    first.feed(0)
    first.feed(3)
    again = Feeder(feed, store, "s")
    again.feed(3)
    assert names(store) == ["b"]


def test_a_batch_that_was_written_and_not_noted_is_written_once() -> None:
    store, feed = a_store(), a_feed(pod("a"), pod("b"))
    Feeder(feed, store, "s")
    store.create(POD, [feed.arrivals[0].body])
    again = Feeder(feed, store, "s")
    assert (again.feed(0), names(store)) == (2, ["a", "b"])


@pytest.mark.parametrize(
    ("name", "said"), [("t", "scenario s, or|run of scenario s"), ("s", "other nodes or pods")]
)
def test_another_scenario_is_refused(name: str, said: str) -> None:
    store = a_store()
    Feeder(a_feed(pod("a")), store, "s")
    with pytest.raises(InputError, match=said):
        Feeder(a_feed(pod("b")), store, name)


def test_a_store_that_another_run_filled_is_rejected() -> None:
    store = a_store()
    store.create(NODE, [make_node("own")])
    with pytest.raises(InputError, match="no run of a scenario"):
        Feeder(a_feed(), store, "s")
    assert store.get(CONFIG_MAP, *MARKER) is None


def test_identity_is_of_what_comes_and_when() -> None:
    feeds = [a_feed(pod("a")), a_feed(pod("b")), a_feed(pod("a", 1)), a_feed(pod("a"), nodes=3)]
    assert len({identity_of(feed) for feed in feeds}) == 4
    assert identity_of(a_feed(pod("a"))) == identity_of(feeds[0])


@pytest.mark.parametrize("outcome", [WriteOutcome.REFUSED, WriteOutcome.UNKNOWN])
def test_a_write_that_did_not_go_through_ends_the_run(outcome: WriteOutcome) -> None:
    reply = Reply(outcome, StatusReason.NO_SPACE, "no space left for run.db")
    with pytest.raises(UnreachableError, match=r"no space left.*start the run again"):
        check_written([Reply(WriteOutcome.OK), reply])


# ---------------------------------------------------------------- a whole run


def lived(feed: Feed, *, speed: float) -> tuple[LiveRun, ManualClock, Store, Sequence[RunSample]]:
    clock = ManualClock()
    store = MemoryStore(clock, Rng(0))
    feeder = Feeder(feed, store, "s")
    plane = Plane(PlaneConfig(profile=load_profile("default"), tier="numpy"), store, clock)
    run, samples = LiveRun(plane, feeder, clock, speed), list[RunSample]()
    run.run(samples.append)
    return run, clock, store, samples


def test_a_run_places_ends_and_stops_when_nothing_more_can_happen() -> None:
    run, _, store, samples = lived(a_feed(pod("a", duration_s=5), pod("b", 60)), speed=0)
    assert names(store) == ["b"]
    assert (samples[-1].placed, samples[-1].ended, samples[-1].arrived) == (1, 1, 2)
    assert run.elapsed == 60


def test_speed_is_seconds_of_the_scenario_per_second() -> None:
    _, clock, _, _ = lived(a_feed(pod("a", 60)), speed=10)
    assert 6 <= clock.monotonic() <= 6.5


@pytest.mark.parametrize("speed", [0, 1, 10])
def test_recorded_times_are_scenario_seconds_at_any_speed(speed: float) -> None:
    run, *_ = lived(a_feed(pod("a", 1, duration_s=20)), speed=speed)
    times = {batch.kind: batch.time for batch in run.recorder.batches}
    assert times[StepKind.ARRIVED] == pytest.approx(1, abs=0.1)
    assert times[StepKind.ENDED] - times[StepKind.PLACED] == pytest.approx(20, abs=0.1)


def test_pods_that_fit_nowhere_do_not_keep_a_run_going() -> None:
    big = ObjectArrival(0, POD, "default", "big", make_pod("big", cpu="64"))
    _, _, _, samples = lived(a_feed(big), speed=1)
    assert (samples[-1].placed, samples[-1].pending) == (0, 1)


def test_a_check_that_raises_ends_a_run_between_two_steps() -> None:
    clock = ManualClock()
    store = MemoryStore(clock, Rng(0))
    feeder = Feeder(a_feed(pod("a"), pod("b", 1e6)), store, "s")
    plane = Plane(PlaneConfig(profile=load_profile("default"), tier="numpy"), store, clock)
    run, calls = LiveRun(plane, feeder, clock), list[int]()

    def check() -> None:
        calls.append(1)
        if len(calls) > 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run.run(check=check)
    run.pause()
    assert run.sample().placed == 1
    assert Feeder(a_feed(pod("a"), pod("b", 1e6)), store, "s").resumed_at == pytest.approx(
        run.elapsed, abs=0.01
    )


# ---------------------------------------------------------------- set-up


@pytest.mark.parametrize(
    ("policy", "profile", "found"),
    [
        ("", "", "best-fit"),
        ("fgd", "", "fgd"),
        ("", "packing", "packing"),
    ],
)
def test_the_command_line_wins_over_the_scenario(
    tmp_path: Path, policy: str, profile: str, found: str
) -> None:
    path = tmp_path / "s.yaml"
    path.write_text('fleet: {like: "4cpu-8gib:1"}\npolicy: best-fit\n')
    assert profile_source(load_scenario(path), policy, profile) == found


def test_a_policy_over_a_profile_keeps_the_profiles_other_settings(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_text(
        'fleet: {like: "4cpu-8gib:1"}\nprofile: {profiles: [{stretto: {retry: false}}]}\n'
    )
    source = profile_source(load_scenario(path), "fgd")
    made = load_profile(source)
    assert (made.retry, [rule.NAME for rule, _ in made.scores]) == (False, ["FGD"])


def test_a_store_is_spelled_in_two_ways(tmp_path: Path) -> None:
    clock = ManualClock()
    assert isinstance(open_store("memory", clock, Rng(0)), MemoryStore)
    open_store(f"sqlite:{tmp_path / 'run.db'}", clock, Rng(0)).close()
    assert (tmp_path / "run.db").exists()


def test_a_scenario_feeds_its_stated_work(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_text('fleet: {like: "4cpu-8gib:2"}\nworkloads: [{pods: {count: 3}}]\n')
    feed = materialise(load_scenario(path), Rng(0))
    store = a_store()
    feeder = Feeder(feed, store, "s")
    feeder.feed(0)
    assert (feeder.pods, len(names(store)), feed.pods) == (3, 3, 3)


def test_an_object_that_the_store_finds_malformed_is_bad_input() -> None:
    refused = Reply(WriteOutcome.REFUSED, StatusReason.INVALID, "budget b: spec.selector: got 3")
    with pytest.raises(InputError, match=r"budget b: spec\.selector: got 3"):
        check_written([refused])
