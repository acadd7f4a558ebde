"""The plane as a whole, in virtual time over a memory store."""

from typing import Any

import pytest

from stretto.api.wire.kinds import NODE, POD
from stretto.base.errors import UnreachableError
from stretto.base.rng import Rng
from stretto.control.queues.config import QueueConfig, dispatcher_config
from stretto.control.scheduler.loop import SchedulingLoop
from stretto.framework.engine.runtime import Runtime
from stretto.framework.profile.profile import load_profile
from stretto.plane.config import PlaneConfig, Step
from stretto.plane.plane import Plane
from stretto.plane.work import StepWork
from stretto.state.work.claims import ConflictCause
from stretto.stores.faulty.odds import FaultOdds
from stretto.stores.faulty.store import FaultyStore
from stretto.stores.store import Bind, Deletion, Patch, Update, WriteOutcome
from stretto.testing import Harness, make_node, make_pod


@pytest.fixture
def harness() -> Harness:
    return Harness([make_node("n1", cpu="4"), make_node("n2", cpu="4")], config={"tier": "numpy"})


class Counted:
    """Units that were dispatched and rows that were computed during the observation."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.handed = self.calls = 0
        accept, place, refresh = SchedulingLoop.accept, Runtime.place, Runtime.row
        patch.setattr(SchedulingLoop, "accept", lambda s, work: self.hand(work) or accept(s, work))
        patch.setattr(Runtime, "place", lambda r, q: self.call() or place(r, q))
        patch.setattr(Runtime, "row", lambda r, c: self.call() or refresh(r, c))

    def hand(self, work: Any) -> None:
        self.handed += sum(len(dispatch.rows) for dispatch in work)

    def call(self) -> None:
        self.calls += 1

    def reset(self) -> None:
        self.handed = self.calls = 0


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counted:
    return Counted(monkeypatch)


# ---------------------------------------------------------------- steps


def test_a_pod_is_on_its_node_in_the_store_after_a_step(harness: Harness) -> None:
    harness.submit(make_pod("p"))
    assert harness.plane.step()
    assert harness.node_of("p") in ("n1", "n2")


def test_nothing_is_decided_before_the_first_list_is_in(harness: Harness) -> None:
    harness.submit(make_pod("p"))
    feed = harness.plane.pump._feeds[0]
    listed, feed.relist = feed.relist, lambda _: 0  # type: ignore[method-assign]
    harness.plane.step()
    assert (harness.node_of("p"), feed.watch) == ("", None)
    feed.relist = listed  # type: ignore[method-assign]
    harness.settle()
    assert harness.node_of("p")


def test_a_plane_with_nothing_to_do_does_nothing(harness: Harness, counted: Counted) -> None:
    harness.settle()
    counted.reset()
    assert [harness.plane.step() for _ in range(3)] == [False] * 3
    assert (counted.handed, counted.calls) == (0, 0)


def test_observers_get_each_step_with_an_effect(harness: Harness) -> None:
    steps = list[Step]()
    harness.plane.observers.append(steps.append)
    harness.submit(make_pod("p"))
    harness.settle()
    assert [len(verdict.granted) for step in steps for verdict in step.verdicts] == [1]


def test_running_until_idle_stops_at_its_limit(harness: Harness) -> None:
    harness.submit(make_pod("p"))
    assert harness.plane.run_until_idle(1) == 1


def test_a_profile_states_how_pods_are_retried(harness: Harness) -> None:
    profile = harness.plane.config.profile
    config = dispatcher_config(profile)
    assert (config.retry, config.first_delay) == (profile.retry, profile.first_delay)


# ---------------------------------------------------------------- waiting and cures


def test_a_cured_pod_is_placed_at_once(harness: Harness) -> None:
    harness.submit(make_pod("big", cpu="8"))
    harness.settle()
    harness.create(NODE, make_node("n3", cpu="16"))
    harness.settle()
    assert harness.node_of("big") == "n3"


@pytest.mark.parametrize("what", ["node grows", "pod leaves", "taint goes", "pod shrinks"])
def test_each_cure_reaches_the_pod_that_waits_for_it(what: str) -> None:
    taint = {"key": "t", "value": "", "effect": "NoSchedule"}
    tainted = [taint] if what == "taint goes" else []
    harness = Harness([make_node("n", cpu="4", taints=tainted)], config={"tier": "numpy"})
    harness.submit(*[make_pod("old", cpu="3")] * (what == "pod leaves"))
    harness.settle()
    harness.submit(make_pod("p", cpu="2" if what in ("pod leaves", "taint goes") else "6"))
    harness.settle()
    assert harness.node_of("p") == ""
    cure(harness, what)
    harness.settle()
    assert harness.node_of("p") == "n"


def cure(harness: Harness, what: str) -> None:
    if what == "pod leaves":
        harness.delete("old")
    elif what == "pod shrinks":
        harness.store.update(POD, [Update("default", "p", make_pod("p", cpu="1"))])
    elif what == "taint goes":
        harness.store.update(NODE, [Update("", "n", make_node("n", cpu="4"))])
    else:
        grown = {"status": {"allocatable": {"cpu": "8"}}}
        harness.store.patch_status(NODE, [Patch("", "n", grown)])


def test_an_incurable_pod_is_not_tried_again(harness: Harness, counted: Counted) -> None:
    harness.submit(make_pod("picky", spec={"nodeSelector": {"disk": "ssd"}}))
    harness.settle()
    counted.reset()
    harness.submit(*[make_pod(f"p{n}") for n in range(10)])
    harness.settle()
    harness.delete("p1")
    harness.settle()
    assert counted.handed == 10


def test_pods_that_fit_nowhere_cost_nothing_until_something_changes(counted: Counted) -> None:
    harness = Harness([make_node("n", cpu="4")], config={"tier": "numpy"})
    harness.submit(*[make_pod(f"p{n}", cpu="5") for n in range(20_000)])
    harness.settle()
    assert counted.handed < 5_000
    counted.reset()
    harness.settle(seconds=30.0)
    assert (counted.handed, counted.calls) == (0, 0)


def test_of_many_waiting_pods_only_as_many_are_woken_as_may_fit(counted: Counted) -> None:
    harness = Harness([make_node("n", cpu="4")], config={"tier": "numpy"})
    harness.submit(*[make_pod(f"p{n}", cpu="5") for n in range(5_000)])
    harness.settle()
    counted.reset()
    harness.create(NODE, make_node("m", cpu="10"))
    harness.settle()
    assert sum(1 for node in harness.placements().values() if node) == 2
    assert counted.handed < 50


def test_higher_priority_goes_first() -> None:
    queue = QueueConfig("default", policy="Priority")
    config = {"dispatcher": dispatcher_config(load_profile("default"), [queue]), "tier": "numpy"}
    harness = Harness([make_node("n", cpu="2")], config=config)
    harness.submit(*[make_pod(f"p{n}", cpu="1", priority=n) for n in range(4)])
    harness.settle()
    assert sorted(name for name, node in harness.placements().items() if node) == ["p2", "p3"]


# ---------------------------------------------------------------- gangs


def test_a_gang_waits_and_then_is_placed_whole(harness: Harness) -> None:
    harness.group("g", 3)
    harness.submit(*[make_pod(f"g{n}", cpu="3", group="g") for n in range(3)])
    harness.settle()
    assert set(harness.placements().values()) == {""}
    harness.create(NODE, make_node("n3", cpu="4"))
    harness.settle()
    assert sorted(harness.placements().values()) == ["n1", "n2", "n3"]


def test_a_gang_that_fails_leaves_no_trace(harness: Harness) -> None:
    harness.group("g", 3)
    harness.submit(*[make_pod(f"g{n}", cpu="3", group="g") for n in range(3)])
    harness.settle()
    assert not harness.plane.cluster.ledger.used.any()
    harness.submit(make_pod("a", cpu="4"), make_pod("b", cpu="4"))
    harness.settle()
    assert sorted(harness.placements().values()) == ["", "", "", "n1", "n2"]


def test_a_gang_without_its_group_or_members_waits(harness: Harness) -> None:
    harness.submit(make_pod("g0", group="g"))
    harness.settle()
    harness.group("g", 2)
    harness.settle()
    assert harness.node_of("g0") == ""
    harness.submit(make_pod("g1", group="g"))
    harness.settle()
    assert all(harness.placements().values())


# ---------------------------------------------------------------- conflicts between shards


def test_a_loser_is_scheduled_again() -> None:
    nodes = [make_node("n1", cpu="1"), make_node("n2", cpu="1")]
    config = {"shards": 2, "partition": False, "batch": 1, "tier": "numpy"}
    harness, causes = Harness(nodes, profile="packing", config=config), list[ConflictCause]()
    harness.plane.observers.append(
        lambda step: causes.extend(bad[2] for v in step.verdicts for bad in v.refused)
    )
    harness.submit(make_pod("a", cpu="1"), make_pod("b", cpu="1"))
    harness.settle(seconds=10.0)
    assert causes[:1] == [ConflictCause.DOES_NOT_FIT]
    assert sorted(harness.placements().values()) == ["n1", "n2"]


@pytest.mark.parametrize("shards", [1, 2, 3])
def test_every_pod_that_fits_is_placed_by_any_number_of_shards(shards: int) -> None:
    nodes = [make_node(f"n{n}", cpu="4", pods=4) for n in range(20)]
    harness = Harness(nodes, config={"shards": shards, "tier": "numpy", "batch": 7})
    harness.submit(*[make_pod(f"p{n}", cpu="1") for n in range(80)])
    harness.settle(seconds=30.0)
    assert "" not in harness.placements().values()
    assert harness.breaches() == []


# ---------------------------------------------------------------- restarts


def test_a_shard_that_died_loses_no_pod(harness: Harness) -> None:
    harness.submit(*[make_pod(f"p{n}") for n in range(5)])
    harness.plane.pump.poll(0.0)
    harness.plane.absorb(StepWork(0.0))
    harness.plane.shards[0].accept(harness.plane.dispatcher.sender.dispatch(0.0, [3])[0])
    harness.plane.restart_shard(0, 0.0)
    harness.settle()
    assert "" not in harness.placements().values()


def test_a_new_plane_over_the_same_store_goes_on(harness: Harness) -> None:
    harness.submit(make_pod("a", cpu="3"), make_pod("b", cpu="3"), make_pod("c", cpu="3"))
    harness.settle()
    before = harness.placements()
    again = Harness(store=harness.store, config={"tier": "numpy"})
    again.create(NODE, make_node("n3", cpu="4"))
    again.settle()
    after = again.placements()
    assert {name: after[name] for name, node in before.items() if node} == {
        name: node for name, node in before.items() if node
    }
    assert "" not in after.values()


def test_a_lost_reply_binds_nothing_twice() -> None:
    harness = Harness(config={"tier": "numpy"})
    store = FaultyStore(harness.store, Rng(1), FaultOdds(lost_reply=1.0), harness.clock)  # type: ignore[arg-type]
    harness.create(NODE, make_node("n", cpu="4"))
    harness.submit(make_pod("p"))
    plane = Plane(PlaneConfig(harness.plane.config.profile, tier="numpy"), store, harness.clock)
    plane.run_until_idle(20)
    record = harness.store.get(POD, "default", "p")
    assert record is not None
    assert record.node == "n"
    assert plane.cluster.ledger.used[0, 3] == 1


def test_a_pod_bound_by_another_client_is_not_bound_again(harness: Harness) -> None:
    harness.submit(make_pod("p", cpu="3"))
    record = harness.store.get(POD, "default", "p")
    assert record is not None
    (reply,) = harness.store.bind([Bind("default", "p", record.uid, "n2")])
    harness.settle()
    assert (reply.outcome, harness.node_of("p")) == (WriteOutcome.OK, "n2")
    assert harness.plane.cluster.ledger.used[:, 0].sum() == 3000


def test_a_pod_that_finished_while_no_plane_ran_frees_its_place(harness: Harness) -> None:
    harness.submit(make_pod("a", cpu="4"), make_pod("b", cpu="4"))
    harness.settle()
    harness.plane.close()
    done = {"status": {"phase": "Succeeded"}}
    harness.store.patch_status(POD, [Patch("default", "a", done)])
    again = Harness(store=harness.store, config={"tier": "numpy"})
    again.submit(make_pod("c", cpu="4"))
    again.settle()
    assert again.node_of("c")


def test_a_plane_stops_watching_although_the_last_binds_end_in_an_error(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: float) -> None:
        raise UnreachableError("the server")

    harness.settle()
    watches = [feed.watch for feed in harness.plane.pump._feeds if feed.watch is not None]
    monkeypatch.setattr(harness.plane.binder, "land", fail)
    with pytest.raises(UnreachableError):
        harness.plane.close()
    assert watches
    assert all(watch._closed for watch in watches)


def test_a_removed_node_does_not_change_its_pods_in_the_store(harness: Harness) -> None:
    harness.submit(make_pod("p"))
    harness.settle()
    harness.store.delete(NODE, [Deletion("", harness.node_of("p"))])
    harness.settle()
    assert harness.breaches() == []
    assert harness.node_of("p")


@pytest.mark.parametrize(
    "bad",
    [
        make_pod("bad", resources={f"x.io/{n}": "1" for n in range(40)}),
        make_pod("bad", gpus=1, gpu_models="|".join(f"m{n}" for n in range(100))),
        make_pod("bad", gpus=1, gpu_milli="\u00b2"),
        make_pod("bad", priority=1 << 40),
        make_pod("bad", memory="9E"),
        make_pod("bad", cpu="-1"),
    ],
)
def test_an_odd_pod_does_not_stand_in_the_way_of_others(harness: Harness, bad: bytes) -> None:
    harness.store.create(POD, [bad])
    harness.submit(make_pod("good"))
    harness.settle()
    assert (bool(harness.node_of("good")), harness.node_of("bad")) == (True, "")


def test_an_absurd_node_does_not_stand_in_the_way_of_others(harness: Harness) -> None:
    harness.create(NODE, make_node("huge", cpu="1000000000", memory="1000Ti"))
    harness.submit(*[make_pod(f"p{n}", cpu="1500m", node="huge") for n in range(3)])
    harness.submit(make_pod("p", cpu="3999m", spec={"nodeSelector": hostname("n1")}))
    harness.settle()
    assert harness.node_of("p") == "n1"


def hostname(name: str) -> dict[str, str]:
    return {"kubernetes.io/hostname": name}
