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
        (["shards", "--scheduler-name", "batch"], "add --cluster, --kubeconfig or --context"),
        (["queues", "--profile", "default"], "add --cluster, --kubeconfig or --context"),
    ],
)
def test_two_states_at_once_are_refused(words: list[str], said: str) -> None:
    done = CliRunner().invoke(stretto, words)
    assert (done.exit_code, said in done.stderr) == (2, True)


def test_without_a_kubeconfig_the_plug_in_says_how_to_name_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    done = CliRunner().invoke(cli, ["queues"])
    assert (done.exit_code, "--kubeconfig" in done.stderr) == (2, True)


def test_the_plug_in_offers_the_verbs_that_look_and_no_other() -> None:
    assert tuple(cli.verbs()) == OFFERED
    done = CliRunner().invoke(cli, ["scheduler"])
    assert (done.exit_code, "unknown command" in done.stderr) == (2, True)


def test_the_package_brings_the_plug_in(repo_root: Path) -> None:
    project = tomllib.loads((repo_root / "pyproject.toml").read_text(encoding="utf-8"))
    module, function = project["project"]["scripts"]["kubectl-stretto"].split(":")
    assert callable(getattr(import_module(module), function))
