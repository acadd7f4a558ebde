"""Read-only commands against a cluster: errors that are detected before any request."""

import tomllib
from importlib import import_module
from pathlib import Path

import pytest
from click.testing import CliRunner

from stretto.cli.kubectl import OFFERED, cli
from stretto.cli.main import cli as stretto


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["queues", "run-1", "--cluster"], "no other state next to a cluster"),
        (["doctor", "sqlite:x.db", "--context", "prod"], "no other state next to a cluster"),
        (["explain", "web", "--run", "last", "--cluster"], "no other state next to a cluster"),
        (["get", "pods", "--on", "last", "--cluster"], "no other state next to a cluster"),
        (["record", "--on", "s.yaml", "--context", "c", "--out", "o"], "no other state next to"),
        (["story", "web", "--on", "cluster", "--run", "last"], "one state"),
        (["shards", "--scheduler-name", "b"], "add --on cluster, --kubeconfig or --context"),
    ],
)
def test_two_states_at_once_are_refused(words: list[str], said: str) -> None:
    done = CliRunner().invoke(stretto, words)
    assert (done.exit_code, said in done.stderr) == (2, True)


def test_a_profile_is_for_a_state_without_one(
    repo_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    scenario = str(repo_root / "examples/quickstart.yaml")
    done = CliRunner().invoke(stretto, ["queues", "--on", scenario, "--profile", "packing"])
    assert (done.exit_code, "have their own" in done.stderr) == (2, True)


def test_without_a_kubeconfig_the_plug_in_states_how_to_name_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    done = CliRunner().invoke(cli, ["queues"])
    assert (done.exit_code, "--kubeconfig" in done.stderr) == (2, True)


def test_the_plug_in_offers_the_verbs_that_read_and_no_other() -> None:
    assert tuple(cli.verbs()) == OFFERED
    done = CliRunner().invoke(cli, ["scheduler"])
    assert (done.exit_code, "unknown command" in done.stderr) == (2, True)


def test_the_package_brings_the_plug_in(repo_root: Path) -> None:
    project = tomllib.loads((repo_root / "pyproject.toml").read_text(encoding="utf-8"))
    module, function = project["project"]["scripts"]["kubectl-stretto"].split(":")
    assert callable(getattr(import_module(module), function))
