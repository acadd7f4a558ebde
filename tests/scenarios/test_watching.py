"""Watching a run from outside: metrics in a file and on a port, events in a durable store."""

import json
import socket
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from stretto.cli.main import cli
from stretto.cli.parts.runs.monitor import Monitor
from stretto.testing import Harness, make_node, make_pod

SMALL = """
name: small
fleet:
  shapes: [{name: box, count: 2, cpu: 4, memory: 8Gi}]
workloads:
  - {name: web, pods: {count: 2, cpu: 2, memory: 1Gi}}
  - {name: huge, pods: {cpu: 64}}
speed: 0
"""

Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STRETTO_STATE", str(tmp_path / "state"))
    (tmp_path / "small.yaml").write_text(SMALL)
    words = ("run", "small.yaml", "-q", "--no-plots", "--tier", "numpy")
    return lambda *more: CliRunner().invoke(cli, [*words, *more])


def test_metrics_are_written_to_a_file_at_the_end(run: Run) -> None:
    assert run("--metrics-file", "m.prom").exit_code == 0
    text = Path("m.prom").read_text()
    assert 'scheduler_schedule_attempts_total{profile="stretto",result="scheduled"} 2.0' in text
    assert 'stretto_waiting_pods{code="too-big",tier="never fits"} 1.0' in text


def test_a_metrics_file_that_cannot_be_written_is_refused_before_any_work(run: Run) -> None:
    result = run("--metrics-file", "nowhere/m.prom")
    assert result.exit_code == 2
    assert "--metrics-file" in result.stderr


def test_a_taken_port_is_refused(run: Run) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        result = run("--metrics-port", str(taken.getsockname()[1]))
    assert result.exit_code == 2
    assert "--metrics-port: got" in result.stderr


def test_metrics_are_served_on_this_machine_alone_while_it_runs() -> None:
    harness = Harness(nodes=[make_node("n")], config={"tier": "numpy"})
    with Monitor(harness.plane, None, 0) as monitor:
        harness.submit(make_pod("a"))
        harness.settle()
        monitor.tick(10.0)
        port = monitor._server.server_port
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
            assert 'stretto_pods{state="bound"} 1.0' in answer.read().decode()


def test_events_are_written_where_the_store_outlives_the_run(run: Run) -> None:
    assert run("--store", "sqlite:run.db").exit_code == 0
    reported = CliRunner().invoke(cli, ["story", "huge-0", "--run", "sqlite:run.db", "--json", "-"])
    steps = json.loads(reported.stdout)["steps"]
    assert [step["step"] for step in steps] == ["seen", "no place"]
    assert steps[1]["detail"].startswith("0/2 nodes are available: 2 Insufficient cpu.")


def test_explain_reads_a_durable_store(run: Run) -> None:
    assert run("--store", "sqlite:run.db", "--no-events").exit_code == 0
    before = Path("run.db").read_bytes()
    words = ["explain", "huge-0", "--run", "sqlite:run.db", "--json", "-", "-q"]
    said = json.loads(CliRunner().invoke(cli, words).stdout)
    assert (said["dominant"]["code"], said["nodes"]["total"]) == ("too-big", 2)
    assert Path("run.db").read_bytes() == before
