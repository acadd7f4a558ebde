"""Shells complete commands, options, and the names of objects."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner

from stretto.cli.main import COMPLETE, cli

Complete = Callable[[str], list[str]]


@pytest.fixture
def complete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Complete:
    """Proposals for the last word of a command line, after a run of the quickstart."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STRETTO_STATE", str(tmp_path / "state"))
    words = ["run", "quickstart", "--speed", "0", "--no-plots", "-q", "--tier", "numpy"]
    assert CliRunner().invoke(cli, words).exit_code == 0

    def proposed(line: str) -> list[str]:
        *before, last = line.split(" ")[1:]
        shell = ShellComplete(cli, {}, "stretto", COMPLETE)
        return [each.value for each in shell.get_completions(before, last)]

    return proposed


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("stretto expl", "explain"),
        ("stretto explain dre", "dream-0"),
        ("stretto explain default/dre", "default/dream-0"),
        ("stretto explain node/gpu", "node/gpu-0"),
        ("stretto explain dream-0 gpu", "gpu-0"),
        ("stretto story web-1", "web-10"),
        ("stretto get po", "pods"),
        ("stretto get pods dre", "dream-0"),
        ("stretto get nodes cpu", "cpu-3"),
        ("stretto get pods --node gpu", "gpu-1"),
        ("stretto get pods --on clu", "cluster"),
        ("stretto run quick", "quickstart"),
        ("stretto run quickstart --policy f", "fgd"),
        ("stretto run quickstart --profile pa", "packing"),
        ("stretto profiles pa", "packing"),
        ("stretto rules Taint", "TaintToleration"),
        ("stretto examples op", "openb"),
        ("stretto completion z", "zsh"),
        ("stretto explain dream-0 --o", "--on"),
    ],
)
def test_a_word_is_completed(complete: Complete, line: str, value: str) -> None:
    assert value in complete(line)


def test_runs_are_completed_where_a_state_is_named(complete: Complete) -> None:
    (run,) = [each for each in complete("stretto queues --on ") if each.endswith("-quickstart")]
    assert complete(f"stretto explain --on {run} dre") == ["dream-0"]


def test_without_a_record_no_name_is_proposed(
    complete: Complete, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("STRETTO_STATE", str(tmp_path / "nothing"))
    assert complete("stretto explain dre") == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell_calls_stretto(shell: str) -> None:
    result = CliRunner().invoke(cli, ["completion", shell])
    assert result.exit_code == 0
    assert f"{COMPLETE}={shell}_complete" in result.stdout
    assert "completion" in result.stderr


def test_bash_reads_the_script_and_completes(repo_root: Path) -> None:
    script = CliRunner().invoke(cli, ["completion", "bash"]).stdout
    requested = {"COMP_WORDS": "stretto expl", "COMP_CWORD": "1", COMPLETE: "bash_complete"}
    environment = {**os.environ, "PYTHONPATH": str(repo_root / "src"), **requested}
    done = subprocess.run(
        ["bash", "-c", f"{script}\n{sys.executable} -m stretto.cli.main"],
        capture_output=True, text=True, env=environment, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout.strip()) == (0, "plain,explain"), done.stderr
