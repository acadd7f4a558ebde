"""``stretto run`` and ``stretto explain`` as they are typed."""

import json
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from stretto.cli.main import cli
from stretto.explain.records.records import RunRecords

SMALL = """
name: small
seed: 3
fleet:
  shapes: [{name: box, count: 4, cpu: 4, memory: 8Gi, zone: a}]
workloads:
  - {name: web, pods: {count: 6, cpu: 2, memory: 1Gi}}
  - {name: job, pods: {count: 2, gang: 2, cpu: 1, memory: 1Gi, duration: 5}, arrival: {at: 10}}
  - {name: huge, pods: {cpu: 64}}
speed: 0
"""

Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STRETTO_STATE", str(tmp_path / "state"))
    (tmp_path / "small.yaml").write_text(SMALL)

    def invoke(*words: str) -> Result:
        tier = ("--tier", "numpy") if words[0] == "run" else ()
        return CliRunner().invoke(cli, [*words, *tier])

    return invoke


def report(run: Run, *words: str) -> dict[str, object]:
    result = run("run", "small.yaml", "-q", "--no-plots", "--json", "-", *words)
    assert result.exit_code == 0, result.stderr
    reported: dict[str, object] = json.loads(result.stdout)
    return reported


def test_a_run_places_what_fits_and_states_why_the_rest_waits(run: Run) -> None:
    reported = report(run)
    assert (reported["arrived"], reported["placed"], reported["ended"], reported["pending"]) == (
        9,
        6,
        2,
        1,
    )
    assert [each["code"] for each in reported["waiting"]] == ["too-big"]  # type: ignore[attr-defined]
    assert (reported["schema"], reported["partial"]) == ("stretto.run/v1", False)


def test_the_json_of_a_run_names_the_node_of_each_pod(run: Run) -> None:
    reported = report(run)
    placements: list[dict[str, str]] = reported["placements"]  # type: ignore[assignment]
    assert len(placements) == reported["pods"]
    assert [each["pod"] for each in placements if not each["node"]] == ["default/huge-0"]


def test_tables_are_data_and_what_to_try_next_is_not(run: Run) -> None:
    result = run("run", "small.yaml", "--no-plots")
    assert "small: done: 9 pods arrived, 6 on 4 nodes, 2 finished, 1 pending" in result.stdout
    assert "stretto explain huge-0" in result.stderr
    assert "try next" not in result.stdout


def test_what_to_try_next_works(run: Run) -> None:
    said = run("run", "small.yaml", "--no-plots").stderr
    commands = re.findall(r"stretto (\S+ .*?) +#", said)
    assert len(commands) == 3
    assert [run(*command.split()).exit_code for command in commands] == [0, 0, 0]


def test_plots_are_written_to_the_given_folder(run: Run, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    result = run("run", "small.yaml", "--out", "plots")
    assert "written: plots/allocated.png" in result.stdout
    assert (tmp_path / "plots" / "allocated.png").read_bytes().startswith(b"\x89PNG")


def test_the_same_seed_places_alike(run: Run) -> None:
    def placements() -> list[str]:
        report(run, "--seed", "9")
        pods = [f"web-{n}" for n in range(6)]
        return [json.loads(run("explain", pod, "-q", "--json", "-").stdout)["node"] for pod in pods]

    assert placements() == placements()


def test_require_all_is_exit_3_after_the_report(run: Run) -> None:
    result = run("run", "small.yaml", "--no-plots", "--require-all", "--shards", "2")
    assert result.exit_code == 3
    assert "1 of 9 pods cannot be placed" in result.stderr or "1 of 7 pods" in result.stderr
    assert "stretto explain huge-0" in result.stderr
    assert "small: done" in result.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nothing.yaml"], "does not exist"),
        (["small.yaml", "--store", "disk"], "unknown store 'disk'"),
        (["small.yaml", "--store", "sqlite:"], "the path of a file"),
        (["small.yaml", "--store", "sqlite:no/such/run.db"], "a folder that exists"),
        (["small.yaml", "--policy", "fdg"], "did you mean fgd?"),
        (["small.yaml", "--shards", "0"], "--shards"),
        (["small.yaml", "--speed", "-1"], "--speed"),
        (["small.yaml", "--out", "small.yaml"], "a folder, not a file"),
        (["small.yaml", "--json", "no/such/a.json"], "an existing folder"),
    ],
)
def test_what_cannot_be_used_is_exit_2_before_any_work(
    run: Run, words: list[str], said: str
) -> None:
    result = run("run", *words)
    assert result.exit_code == 2
    assert said in result.stderr
    assert result.stdout == ""


def test_a_policy_replaces_the_scores_of_a_profile(run: Run, tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text("profiles: [{stretto: {retry: false}}]")
    reported = report(run, "--profile", "own.yaml", "--policy", "best-fit")
    (tmp_path / "own.yaml").unlink()
    said = json.loads(run("explain", "web-0", "-q", "--json", "-").stdout)
    assert [part["plugin"] for part in said["choice"]["top"][0]["parts"]] == ["BestFit"]
    assert reported["placed"] == 6


def test_a_typo_in_a_scenario_names_the_nearest_key(run: Run, tmp_path: Path) -> None:
    (tmp_path / "small.yaml").write_text(SMALL.replace("workloads", "worklods"))
    result = run("run", "small.yaml")
    assert result.exit_code == 2
    assert "workloads" in result.stderr


def test_a_state_folder_that_cannot_be_made_costs_the_record_only(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STRETTO_STATE", str(tmp_path / "small.yaml"))
    result = run("run", "small.yaml", "--no-plots")
    assert result.exit_code == 0
    assert "run not recorded" in result.stderr


# ---------------------------------------------------------------- explain


def test_explain_states_the_dominant_reason_and_what_would_help(run: Run) -> None:
    report(run)
    said = run("explain", "huge-0").stdout
    assert "(cpu: requests 64, largest 4)" in said
    assert "0/4 nodes are available: 4 Insufficient cpu." in said
    assert "Requesting" in said


def test_explain_pod_and_node_is_why_not_there(run: Run) -> None:
    report(run)
    result = run("explain", "default/huge-0", "box-1")
    assert result.exit_code == 0
    assert "default/huge-0 does not fit on box-1: " in result.stdout


def test_explain_as_json_has_a_schema_and_stable_codes(run: Run) -> None:
    report(run)
    reported = json.loads(run("explain", "huge-0", "--json", "-").stdout)
    assert reported["schema"] == "stretto.explain/v1"
    assert (reported["dominant"]["code"], reported["dominant"]["tier"]) == ("too-big", "never fits")


@pytest.mark.parametrize(
    ("words", "near"),
    [
        (["hug-0"], "huge-0"),
        (["huge-0", "box-9"], "box-1"),
        (["huge-0", "--run", "smoll"], "small"),
    ],
)
def test_what_is_not_found_is_exit_6_with_the_nearest(
    run: Run, words: list[str], near: str
) -> None:
    report(run)
    result = run("explain", *words)
    assert result.exit_code == 6
    assert near in result.stderr


def test_without_a_record_explain_states_how_to_make_one(run: Run) -> None:
    result = run("explain", "web-0")
    assert result.exit_code == 6
    assert "stretto run" in result.stderr


def test_runs_are_listed_the_latest_first(run: Run) -> None:
    records = RunRecords()
    names = [str(report(run)["record"]) for _ in range(11)]
    for name in names:  # as where times of files are coarse
        os.utime(records.find(name), (0, 0))
    for words in (("explain", "--runs"), ("get", "runs")):
        rows = run(*words).stdout.splitlines()[3:]
        assert [row.split()[0] for row in rows] == names[::-1]


def test_of_files_of_one_moment_the_later_run_comes_first(tmp_path: Path) -> None:
    names = ["20260102-030405-web", "20260102-030405-web-2", "20260102-030406-web"]
    for name in names:
        (tmp_path / f"{name}.sqlite").touch()
        os.utime(tmp_path / f"{name}.sqlite", (0, 0))
    assert RunRecords(tmp_path).names() == names[::-1]


def test_an_earlier_run_is_selected_by_name(run: Run) -> None:
    first = str(report(run)["record"])
    report(run)
    reported = json.loads(run("explain", "web-0", "--run", first, "--json", "-").stdout)
    assert reported["run"] == first


def test_explain_without_a_pod_is_wrong_usage(run: Run) -> None:
    assert run("explain").exit_code == 2
