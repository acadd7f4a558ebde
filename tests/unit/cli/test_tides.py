"""``stretto tides``: a table and JSON of switches, and an exit code for each end."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from stretto.cli.main import cli


@pytest.fixture
def morning(repo_root: Path) -> tuple[str, str]:
    """The manifest and the scenario of the guide."""
    examples = repo_root / "examples"
    return str(examples / "tides/morning.yaml"), str(examples / "tides.yaml")


def tides(*words: str) -> Result:
    return CliRunner().invoke(cli, ["tides", *words, "--tier", "numpy"])


def test_switches_have_their_cause_and_their_cost(morning: tuple[str, str]) -> None:
    manifest, scenario = morning
    result = tides(manifest, "--on", scenario, "--for", "60", "--json", "-")
    found = json.loads(result.stdout)
    (first, second) = found["switches"]
    assert (first["node"], first["to"], first["evicted"]) == (
        "tide-1",
        "online",
        ["default/train-1"],
    )
    assert len(first["beneficiaries"]) + len(second["beneficiaries"]) == 6
    assert (found["pending"], result.exit_code) == ([], 0)


def test_online_pods_without_a_node_exit_with_3(morning: tuple[str, str], tmp_path: Path) -> None:
    manifest, scenario = morning
    text = Path(manifest).read_text(encoding="utf-8").replace("replicas: 10", "replicas: 30")
    (tmp_path / "more.yaml").write_text(text, encoding="utf-8")
    result = tides(str(tmp_path / "more.yaml"), "--on", scenario, "--for", "60")
    assert result.exit_code == 3
    assert "online pods cannot be placed" in result.stderr


def test_a_state_without_a_pool_is_refused(morning: tuple[str, str]) -> None:
    result = tides("--on", morning[1])
    assert result.exit_code == 2
    assert "TideNodePool" in result.stderr


def test_a_malformed_pool_is_refused(tmp_path: Path, morning: tuple[str, str]) -> None:
    text = Path(morning[0]).read_text(encoding="utf-8").replace("online: 1,", "online: -1,")
    (tmp_path / "bad.yaml").write_text(text, encoding="utf-8")
    result = tides(str(tmp_path / "bad.yaml"), "--on", morning[1])
    assert result.exit_code == 2
    assert "reserve.online" in result.stderr
