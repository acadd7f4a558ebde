"""Output files: complete even if the reader of the tables goes away; no folder without a file."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from stretto.cli.main import cli

RUN = ["run", "quickstart", "--speed", "0", "--tier", "numpy"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STRETTO_STATE", str(tmp_path / "state"))
    return tmp_path


def test_a_closed_pipe_costs_no_file(repo_root: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(repo_root / "src")}
    words = [sys.executable, "-m", "stretto.cli.main", *RUN, "--json", "out.json", "-q"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, env=environment) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.wait() == 141
    assert json.loads(Path("out.json").read_text())["schema"].startswith("stretto.run/")
    drawn = {path.stem for path in Path("out/quickstart").glob("*.png")}
    assert drawn == {"allocated", "nodes", "pending"}


@pytest.mark.parametrize("words", [["--no-plots"], ["--policy", "nothing"]])
def test_no_empty_folder_is_left(words: list[str]) -> None:
    CliRunner().invoke(cli, [*RUN, *words])
    assert not Path("out").exists()


def test_a_run_without_a_writable_folder_warns_and_goes_on(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "out").write_text("a file")
    result = CliRunner().invoke(cli, [*RUN, "-q"])
    assert (result.exit_code, "no plots: the default output folder" in result.stderr) == (0, True)
    assert "quickstart: done" in result.stdout


def test_an_output_folder_that_cannot_be_made_is_refused_before_the_run() -> None:
    result = CliRunner().invoke(cli, [*RUN, "--out", "a/b"])
    assert (result.exit_code, "create a first" in result.stderr) == (2, True)


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["run", "quickstart", "--json"], "Give a path, or - for standard output."),
        (["explain", "dream-0", "-o", "json"], "-o is an option of lists"),
        (["--out", "x", "run", "quickstart"], "--out follows the command: stretto run quickstart"),
        (["-q", "--out=x", "chaos"], "--out follows the command: stretto -q chaos --out=x"),
        (["--out", "x", "study", "omega"], "stretto study omega --out x"),
        (["--pending", "explain"], "--pending follows the command: stretto explain --pending"),
        (["--no-plots", "run", "x"], "--no-plots follows the command: stretto run x --no-plots"),
        (["get", "pods", "--out", "x"], "'--out'. It is an option of run, simulate, compare,"),
        (["top"], "Missing argument '{nodes|pods|pools}'. Choose from: nodes, pods, pools (see"),
        (["run", "quickstart", "--shards", "two"], "'two' is not a valid whole number"),
        (["run", "quickstart", "--speed", "fast"], "'fast' is not a valid number"),
    ],
)
def test_a_usage_error_states_what_to_type(words: list[str], hint: str) -> None:
    result = CliRunner().invoke(cli, words)
    assert (result.exit_code, hint in result.stderr) == (2, True), result.stderr
