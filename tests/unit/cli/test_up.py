"""Options of ``stretto up``."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from stretto.cli.commands.up import included_scheduler
from stretto.cli.main import cli


@pytest.fixture
def kubeconfig(tmp_path: Path) -> str:
    path = tmp_path / "config"
    path.write_text("apiVersion: v1\nkind: Config\n")
    return str(path)


@pytest.mark.parametrize("words", [["--nodes", "5"], ["--store", "sqlite:x.db"], ["--speed", "2"]])
def test_a_cluster_that_exists_takes_no_options_of_a_local_one(
    words: list[str], kubeconfig: str
) -> None:
    result = CliRunner().invoke(cli, ["up", "--join", kubeconfig, *words])
    assert (result.exit_code, f"remove {words[0]}" in result.output) == (2, True), result.output


def test_a_kubeconfig_without_a_cluster_is_refused(kubeconfig: str) -> None:
    result = CliRunner().invoke(cli, ["up", "--join", kubeconfig])
    assert result.exit_code == 2
    assert kubeconfig in result.output


def test_the_included_scheduler_counts_use_so_that_queues_show_it() -> None:
    dispatcher = included_scheduler("default", "numpy").dispatcher
    assert dispatcher is not None
    assert dispatcher.counts_usage


@pytest.mark.parametrize(
    ("words", "problem"),
    [([], "--audit-policy"), (["--audit-log", "audit.log"], "audit.k8s.io/v1, Kind=Policy")],
)
def test_an_audit_policy_needs_a_log_and_its_kind(
    kubeconfig: str, words: list[str], problem: str
) -> None:
    result = CliRunner().invoke(cli, ["up", "--audit-policy", kubeconfig, *words])
    assert (result.exit_code, problem in result.output) == (2, True), result.output
