"""The record of a run: everything is restored, and the folder keeps the latest records."""

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from stretto.api.wire.kinds import NODE, POD
from stretto.base.clock import seconds_since
from stretto.base.errors import InputError, NotFoundError
from stretto.explain.records.record_file import RecordFile, RecordSources, RunFacts, write_record
from stretto.explain.records.recorder import Recorder
from stretto.explain.records.records import RunRecords, default_folder
from stretto.explain.why.on_node import explain_pod_on
from stretto.explain.why.sources.live import live_scene
from stretto.explain.why.sources.loaded import LoadedRun
from stretto.explain.why.why import explain_pod
from stretto.explain.words.reasons import ReasonCode
from stretto.testing import Harness, make_node, make_pod

NUMPY = {"tier": "numpy"}
Opened = Callable[[Path], RecordFile]
Loaded = Callable[[Path], LoadedRun]
FACTS = RunFacts(
    name="r",
    source="s.yaml",
    started="2026-01-02T03:04:05Z",
    seconds=1.0,
    seed=7,
    shards=1,
    profile="default",
    scheduler_names=("stretto",),
    summary={"placed": 3},
)


@pytest.fixture
def opened() -> Iterator[Opened]:
    """Opens records, and closes them in the end."""
    with ExitStack() as held:
        yield lambda path: held.enter_context(closing(RecordFile(path)))


@pytest.fixture
def loaded() -> Iterator[Loaded]:
    """Loads records, and closes them in the end."""
    with ExitStack() as held:
        yield lambda path: held.enter_context(closing(LoadedRun(path)))


@pytest.fixture
def harness() -> Harness:
    made = Harness(
        nodes=[make_node(f"n{i}", cpu="4", gpus=1, model="T4") for i in range(3)], config=NUMPY
    )
    made.recorder = Recorder(made.plane.cluster, seconds_since(0.0))  # type: ignore[attr-defined]
    made.plane.observers.append(made.recorder.observe)  # type: ignore[attr-defined]
    made.submit(*[make_pod(f"web-{i}", cpu="3", labels={"n": f"web-{i}"}) for i in range(4)])
    made.settle()
    made.submit(make_pod("gpu", gpus=1, gpu_milli=300), make_pod("alien", scheduler="other"))
    made.group("g", 3)
    made.submit(*[make_pod(f"g-{i}", cpu="2", group="g") for i in range(3)])
    made.settle()
    return made


@pytest.fixture
def record(harness: Harness, tmp_path: Path) -> Path:
    plane, path = harness.plane, tmp_path / "r.sqlite"
    recorder = harness.recorder  # type: ignore[attr-defined]
    write_record(path, FACTS, RecordSources(harness.store, plane.cluster, plane.units, recorder))
    return path


def test_every_object_comes_back_byte_for_byte_but_for_shared_names(
    harness: Harness, record: Path, opened: Opened
) -> None:
    kept = {r.uid: r for r in opened(record).objects(NODE)}
    assert {r.uid: r.body for r in harness.store.list(NODE).records} == {
        uid: r.body for uid, r in kept.items()
    }
    pods = {r.name: r for r in opened(record).objects(POD)}
    assert pods["web-2"].body == harness.store.get(POD, "default", "web-2").body  # type: ignore[union-attr]
    assert pods["gpu"].annotations == {"stretto.dev/gpu-devices": "0"}


def test_bodies_of_one_template_are_kept_once(record: Path) -> None:
    with closing(sqlite3.connect(record)) as file:
        (count,) = file.execute("SELECT count(*) FROM bodies").fetchone()
    assert count == len(["node", "web", "gpu", "alien", "group", "gang member"])


def test_the_facts_of_the_run_come_back(record: Path, opened: Opened) -> None:
    assert opened(record).facts() == FACTS


@pytest.mark.parametrize("pod", ["web-0", "web-3", "gpu", "g-1"])
def test_a_record_answers_as_the_living_plane_does(
    harness: Harness, record: Path, pod: str, loaded: Loaded
) -> None:
    plane = harness.plane
    live = explain_pod(live_scene(plane.cluster, plane.config.profile, plane.units), pod)
    said = explain_pod(loaded(record).scene, pod)
    assert (said.dominant, said.nodes, said.node) == (live.dominant, live.nodes, live.node)
    assert said.cures == live.cures


def test_why_not_there_is_answered_from_a_record(record: Path, loaded: Loaded) -> None:
    said = explain_pod_on(loaded(record).scene, "web-3", "n0")
    assert "2.1 cores short" in said.sentence


def test_a_placed_pod_has_its_steps(record: Path, loaded: Loaded) -> None:
    steps = explain_pod(loaded(record).scene, "web-0").steps
    assert [step.step for step in steps] == ["seen", "placed"]
    assert "by shard 0" in steps[1].detail


def test_a_pending_pod_has_its_failed_attempts(record: Path, loaded: Loaded) -> None:
    said = explain_pod(loaded(record).scene, "web-3")
    assert said.steps[-1].step == "no place"
    assert said.failed_attempts == 1


def test_a_pod_of_another_scheduler_is_named_as_such(record: Path, loaded: Loaded) -> None:
    said = explain_pod(loaded(record).scene, "alien")
    assert said.dominant is not None
    assert said.dominant.code is ReasonCode.OTHER_SCHEDULER


def test_units_keep_their_members_and_minimum(record: Path, loaded: Loaded) -> None:
    unit = explain_pod(loaded(record).scene, "g-0").unit
    assert unit is not None
    assert (unit.min_member, unit.placed, unit.waiting) == (3, 0, 3)


def test_steps_beyond_the_limit_are_counted_not_kept(harness: Harness) -> None:
    recorder = Recorder(harness.plane.cluster, seconds_since(0.0), limit=2)
    harness.plane.observers.append(recorder.observe)
    harness.submit(*[make_pod(f"more-{i}", cpu="10m") for i in range(5)])
    harness.settle()
    assert (recorder.kept, recorder.dropped) == (0, 5)


def test_a_file_that_is_no_record_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.sqlite").write_text("hello")
    with pytest.raises(InputError, match="a run record"):
        RecordFile(tmp_path / "x.sqlite")


def test_a_full_or_missing_folder_is_an_input_error(harness: Harness, tmp_path: Path) -> None:
    plane = harness.plane
    with pytest.raises(InputError, match="STRETTO_STATE"):
        write_record(
            tmp_path / "no" / "r.sqlite",
            FACTS,
            RecordSources(harness.store, plane.cluster, plane.units),
        )


# ---------------------------------------------------------------- the folder


def some_records(folder: Path, count: int) -> RunRecords:
    records = RunRecords(folder)
    for n in range(count):
        path = records.new(f"Run {n}", "2026-01-02T03:04:05.1Z")
        path.touch()
        os.utime(path, (n, n))
    return records


def test_names_contain_time_and_subject_and_the_latest_is_first(tmp_path: Path) -> None:
    records = some_records(tmp_path / "a" / "b", 2)
    assert records.names() == ["20260102-030405-run-1", "20260102-030405-run-0"]


def test_two_records_of_one_second_have_two_names(tmp_path: Path) -> None:
    records = some_records(tmp_path, 1)
    assert records.new("Run 0", "2026-01-02T03:04:05Z").stem == "20260102-030405-run-0-2"


@pytest.mark.parametrize("name", ["", "latest", "run-1", "20260102-030405-run-1"])
def test_a_record_is_found_by_name_or_its_end(tmp_path: Path, name: str) -> None:
    assert some_records(tmp_path, 2).find(name).stem == "20260102-030405-run-1"


def test_an_unknown_record_names_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="20260102-030405-run-0"):
        some_records(tmp_path, 1).find("20260102-030405-run-9")


def test_without_records_the_message_explains_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="stretto run quickstart"):
        RunRecords(tmp_path / "none").find()


def test_only_the_latest_are_kept(tmp_path: Path) -> None:
    records = some_records(tmp_path, 5)
    records.prune(2)
    assert records.names() == ["20260102-030405-run-4", "20260102-030405-run-3"]


def test_the_folder_is_the_users_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("STRETTO_STATE", str(tmp_path))
    assert default_folder() == tmp_path / "runs"
    monkeypatch.delenv("STRETTO_STATE")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert default_folder() == tmp_path / "stretto" / "runs"
