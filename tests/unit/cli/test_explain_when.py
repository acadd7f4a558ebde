"""``stretto explain --when``: the estimated start, simulated on a copy of what a store holds."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from stretto.api.codec import set_fields
from stretto.api.wire.kinds import NODE, POD, POD_GROUP
from stretto.base.clock import ManualClock, timestamp
from stretto.base.rng import Rng
from stretto.cli.main import cli
from stretto.plane.copy import PlaneCopy, StoreState
from stretto.plane.plane import Plane
from stretto.sim.history.forecast import forecast
from stretto.sim.states.source import state_of
from stretto.stores.embedded.memory import MemoryStore
from stretto.stores.embedded.sqlite import SqliteStore
from stretto.stores.store import Record
from stretto.testing import make_group, make_node, make_pod


def stored(path: Path, runs: str | None) -> str:
    """A store with one core: pod a has it (for a time, if that is said), b and c wait."""
    store = SqliteStore(path, ManualClock(), Rng(0))
    store.create(NODE, [make_node("n", cpu="1")])
    for name, node, lasts in (("a", "n", runs), ("b", "", "50"), ("c", "", "50")):
        notes = {} if lasts is None else {"stretto.dev/duration": lasts}
        bound = {"node": node} if node else {}
        store.create(POD, [make_pod(name, cpu="1", annotations=notes, **bound)])  # type: ignore[arg-type]
    store.close()
    return f"sqlite:{path}"


def settled(scenario: Path) -> Plane:
    """The end of a scenario, seen by a plane of its own."""
    copy = PlaneCopy(state_of(str(scenario)))
    copy.look()
    return copy.plane


def explain(pod: str, run: str, *more: str) -> Result:
    return CliRunner().invoke(cli, ["explain", pod, "--run", run, "--when", "-q", *more])


@pytest.mark.parametrize(("pod", "after"), [("b", 100), ("default/c", 150)])
def test_a_pending_pod_gets_its_expected_start(tmp_path: Path, pod: str, after: float) -> None:
    done = explain(pod, stored(tmp_path / "run.db", "100"), "--json", "-")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["expected_start_s"] == pytest.approx(after, abs=1)


@pytest.mark.parametrize("gang", [0, 4])
def test_pods_that_differ_in_their_names_alone_are_distinguished(tmp_path: Path, gang: int) -> None:
    four, lasts = {"count": 4, "cpu": 1}, {"stretto.dev/duration": "100"}
    text = json.dumps(
        {
            "name": "alike",
            "fleet": {"shapes": [{"name": "n", "count": 1, "cpu": 4, "memory": "8Gi"}]},
            "workloads": [
                {"name": "first", "pods": {**four, "gang": gang, "annotations": lasts}},
                {"name": "next", "pods": {**four, "gang": 4}, "arrival": {"at": 5}},
            ],
        }
    )
    path = tmp_path / "alike.yaml"
    path.write_text(text, encoding="utf-8")
    starts = forecast(settled(path)).after_s
    assert starts == {"PodGroupUnit/default/next": pytest.approx(100, abs=10)}


def gang_store(path: Path, timeout: int, pods: int = 2) -> str:
    """A store with one core that is taken for 1,000 s, and a gang of two that waits for it."""
    run = stored(path, "1000")
    store = SqliteStore(path, ManualClock(), Rng(1))
    store.create(POD_GROUP, [make_group("g", 2, scheduleTimeoutSeconds=timeout)])
    store.create(POD, [make_pod(f"g{n}", cpu="500m", group="g") for n in range(pods)])
    store.close()
    return run


@pytest.mark.parametrize(
    ("pods", "why"),
    [
        (2, "does not fit when its PodGroup times out"),
        (1, "lacks 1 pod when its PodGroup times out"),
    ],
)
def test_a_gang_that_times_out_first_is_reported_to_never_start(
    tmp_path: Path, pods: int, why: str
) -> None:
    done = explain("g0", gang_store(tmp_path / "run.db", 300, pods), "--json", str(tmp_path / "j"))
    assert "Never starts: it still " + why in done.stdout
    assert "times out, in 300 s" in done.stdout
    reported = json.loads((tmp_path / "j").read_text())
    assert (reported["expected_start_s"], reported["expected_timeout_s"]) == (None, 300.0)


def test_a_group_of_a_living_cluster_has_waited_since_it_was_created() -> None:
    group = make_group("g", 2, scheduleTimeoutSeconds=300)
    stamped = set_fields(group, {("metadata", "creationTimestamp"): timestamp(1_000.0)})
    store = MemoryStore(ManualClock(), Rng(0))
    store.seed([Record(POD_GROUP, "default", "g", "u", version=1, body=stamped)])
    store.create(POD, [make_pod("g0", group="g")])
    records = [*store.list(POD_GROUP).records, *store.list(POD).records]
    copy = PlaneCopy(StoreState("cluster", records, at=1_100.0))
    copy.settle(0.0)
    copy.backdate_groups()
    assert forecast(copy.plane).late_s == {"PodGroupUnit/default/g": 200.0}


def test_without_a_run_time_there_is_no_answer(tmp_path: Path) -> None:
    done = explain("b", stored(tmp_path / "run.db", None))
    assert "No estimate: no running pod with a known run time" in done.stdout


def test_a_bound_pod_gets_no_estimate(tmp_path: Path) -> None:
    done = explain("a", stored(tmp_path / "run.db", "100"), "--json", "-")
    assert json.loads(done.stdout)["expected_start_s"] is None
