"""The bench against kube-scheduler, and parity with it, on the real programs."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from stretto.base.clock import WallClock
from stretto.base.rng import Rng
from stretto.cli.main import cli
from stretto_lab.bench.kube.parity.replay import run_parity

pytestmark = pytest.mark.kube

PODS = int(os.environ.get("PARITY_PODS", "60"))
NUMBERS = {"pods_per_s", "rss_mb", "start_to_first_binding_s"}
COARSE = {"p50_s", "p99_s", "cpu_us_per_pod"}
"""For four pods these may be below the resolution of clocks."""


def test_both_sides_and_the_ceiling_are_measured_on_the_same_objects(tmp_path: Path) -> None:
    found = measured(tmp_path, "preemption")["preemption"]
    sides = [found["stretto"], found["kube-scheduler"]]
    assert [(side["bound"], side["unbound"]) for side in sides] == [(4, 0), (4, 0)]
    assert all(side[name] > 0 for side in sides for name in NUMBERS)
    assert all(side[name] >= 0 for side in sides for name in COARSE)
    assert found["replay_failed"] == 0
    ours = found["stretto"]["pods_per_s"]
    assert found["ratio"] == near(ours / sides[1]["pods_per_s"])
    assert found["share_of_ceiling"] == near(ours / found["api_ceiling_per_s"])


def near(value: float) -> Any:
    """Approximately a value, as figures are printed: with three decimal places."""
    return pytest.approx(value, rel=0.1, abs=0.001)


def test_gangs_are_measured_and_the_other_side_is_null(tmp_path: Path) -> None:
    found = measured(tmp_path, "gang")["gang"]
    assert found["kube-scheduler"] is None
    assert found["ratio"] is None
    assert (found["stretto"]["bound"], found["stretto"]["unbound"]) == (36, 0)
    assert (tmp_path / "kube-gang.png").read_bytes().startswith(b"\x89PNG")


def test_the_node_of_kube_scheduler_is_among_the_best_for_every_pod() -> None:
    report = run_parity(PODS, 50, Rng(1), WallClock(), print)
    assert report.deviations == []
    assert report.pods == PODS
    assert report.decided > PODS // 3


def measured(folder: Path, workloads: str) -> dict[str, Any]:
    """Return the results of the command for workloads on 20 nodes."""
    out = folder / "out.json"
    words = ["bench", "kube", "--workload", workloads, "--nodes", "20", "--rounds", "1"]
    result = CliRunner().invoke(cli, [*words, "--json", str(out), "--out", str(folder)])
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(out.read_text())
    return found
