"""An interrupted run resumes: nothing is lost, nothing is bound twice."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from stretto.api.wire.kinds import NODE, POD
from stretto.base.clock import WallClock
from stretto.base.rng import Rng
from stretto.cli.main import cli
from stretto.explain.records.records import RunRecords
from stretto.explain.why.sources.loaded import LoadedRun
from stretto.state.queries.invariants import check_all
from stretto.stores.embedded.sqlite import SqliteStore
from stretto.testing import make_node

MANY = """
name: many
fleet:
  shapes: [{name: box, count: 150, cpu: 16, memory: 64Gi, zone: a}]
workloads:
  - {name: p, pods: {count: 3000, cpu: 900m, memory: 1Gi}}
shards: 2
"""
SLOW = """
name: slow
fleet:
  shapes: [{name: box, count: 4, cpu: 64, memory: 64Gi}]
workloads:
  - {name: p, pods: {count: 400, cpu: 100m, memory: 8Mi}, arrival: {every: 0.02}}
"""

FEW = """
name: few
fleet:
  shapes: [{name: box, count: 1, cpu: 4, memory: 8Gi}]
workloads:
  - {name: p, pods: {count: 3, cpu: 1, memory: 1Gi}}
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STRETTO_STATE", str(tmp_path / "state"))
    (tmp_path / "many.yaml").write_text(MANY)
    (tmp_path / "slow.yaml").write_text(SLOW)
    (tmp_path / "few.yaml").write_text(FEW)
    return tmp_path


def start(scenario: str, *words: str) -> "subprocess.Popen[str]":
    code = "from stretto.cli.main import main; main()"
    line = [sys.executable, "-c", code, "run", scenario, "--no-plots", "--tier", "numpy", *words]
    pipe = subprocess.PIPE
    return subprocess.Popen(line, stdout=pipe, stderr=pipe, text=True)


def in_process(scenario: str, *words: str) -> Result:
    """A run where no other process is needed."""
    line = ["run", scenario, "--no-plots", "--tier", "numpy", *words]
    return CliRunner().invoke(cli, line)


def finish(scenario: str, *words: str) -> dict[str, object]:
    with start(scenario, "-q", "--json", "-", *words) as child:
        out, err = child.communicate()
    assert child.returncode == 0, err
    reported: dict[str, object] = json.loads(out)
    return reported


def placements(path: Path) -> dict[str, str]:
    store = SqliteStore(path, WallClock(), Rng(0))
    try:
        return {record.uid: record.node for record in store.list(POD).records}
    finally:
        store.close()


def killed_after(path: Path, size: int) -> None:
    """Start a run, and kill it once its store's log has grown."""
    log = path.with_name(path.name + "-wal")
    with start("many.yaml", "--store", f"sqlite:{path.name}", "-q") as child:
        while child.poll() is None and not (log.exists() and log.stat().st_size > size):
            time.sleep(0.005)
        child.send_signal(signal.SIGKILL)
        child.communicate()


@pytest.mark.timeout(120)
@pytest.mark.parametrize("size", [250_000, pytest.param(750_000, marks=pytest.mark.slow)])
def test_a_killed_run_goes_on_and_binds_nothing_twice(place: Path, size: int) -> None:
    killed_after(place / "run.db", size)
    before = placements(place / "run.db")
    reported = finish("many.yaml", "--store", "sqlite:run.db")
    after = placements(place / "run.db")
    assert reported["resumed"] is True
    assert len(after) == 3000
    assert set(before) <= set(after)
    bound = {uid: node for uid, node in before.items() if node}
    assert {uid: after[uid] for uid in bound} == bound
    with closing(LoadedRun(RunRecords().find(str(reported["record"])))) as run:
        assert check_all(run.scene.cluster) == []
    assert (reported["placed"], reported["pending"]) == (150 * 17, 450)


def test_a_run_that_was_over_binds_nothing_more(place: Path) -> None:
    words = ("few.yaml", "--store", "sqlite:run.db", "-q", "--json", "-")
    first, again = (json.loads(in_process(*words).stdout) for _ in range(2))
    assert (first["resumed"], again["resumed"]) == (False, True)
    assert (again["placed"], again["placed_by_shard"]) == (3, {})


def ended_by(number: signal.Signals, store: str) -> "tuple[subprocess.Popen[str], str, str]":
    with start("slow.yaml", "--store", store, "--json", "part.json") as child:
        assert child.stderr is not None
        while (line := child.stderr.readline()) and "%" not in line:
            pass  # until it reports its progress
        child.send_signal(number)
        out, err = child.communicate()
    return child, out, err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_reports_what_is_known_and_is_exit_130(
    place: Path, number: signal.Signals
) -> None:
    child, out, err = ended_by(number, "memory")
    assert child.returncode == 130
    assert "slow: interrupted, so far" in out
    assert json.loads(err.splitlines()[-1])["error"]["exit_code"] == 130
    reported = json.loads((place / "part.json").read_text())
    assert reported["partial"] is True
    assert 0 < reported["placed"] < 400


def test_an_interrupted_run_is_recorded_and_goes_on_where_its_time_stopped(place: Path) -> None:
    _, _, err = ended_by(signal.SIGTERM, "sqlite:run.db")
    print(err)
    part = json.loads((place / "part.json").read_text())
    with closing(LoadedRun(RunRecords().find())) as run:
        assert run.facts.interrupted
    reported = finish("slow.yaml", "--store", "sqlite:run.db", "--speed", "100")
    assert (reported["placed"], reported["resumed"]) == (400, True)
    assert sum(reported["placed_by_shard"].values()) == 400 - part["placed"]  # type: ignore[attr-defined]


def test_another_scenario_is_refused_with_both_names(place: Path) -> None:
    in_process("few.yaml", "--store", "sqlite:run.db")
    refused = in_process("many.yaml", "--store", "sqlite:run.db")
    assert refused.exit_code == 2
    assert "a run of scenario few" in refused.stderr
    assert "expected a run of scenario many" in refused.stderr


def test_a_store_that_another_run_filled_is_rejected(place: Path) -> None:
    store = SqliteStore(place / "run.db", WallClock(), Rng(0))
    store.create(NODE, [make_node("own")])
    store.close()
    refused = in_process("slow.yaml", "--store", "sqlite:run.db")
    assert refused.exit_code == 2
    assert "an empty store" in refused.stderr


def test_a_store_that_is_open_elsewhere_is_exit_8(place: Path) -> None:
    store = SqliteStore(place / "run.db", WallClock(), Rng(0))
    child = start("slow.yaml", "--store", "sqlite:run.db")
    _, err = child.communicate()
    store.close()
    assert child.returncode == 8
    assert "another process has it open" in err


def test_a_reader_that_goes_away_is_no_error_message(place: Path) -> None:
    line = (
        f"{shlex.quote(sys.executable)} -m stretto.cli.main --help | true; exit ${{PIPESTATUS[0]}}"
    )
    child = subprocess.run(
        ["bash", "-c", line], capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"}
    )
    assert child.stderr == ""
    assert child.returncode in (0, 141)
