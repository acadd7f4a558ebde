"""``stretto study``: figures on stdout, JSON and plots at the requested paths."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from stretto.cli.main import cli

OMEGA = ["--machines", "20", "--schedulers", "1,2", "--decisions", "1", "--hours", "0.02"]
SHARDS = ["--nodes", "64", "--pods", "60", "--shards", "1,2", "--decisions-ms", "5"]


def study(*words: str) -> Result:
    return CliRunner().invoke(cli, ["study", *words, "-q"])


def test_omega_gives_a_point_for_every_run_and_five_plots(tmp_path: Path) -> None:
    done = study("omega", *OMEGA, "--modes-at", "2", "--json", "-", "--out", str(tmp_path))
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert (found["schema"], len(found["points"])) == ("stretto.study.omega/v1", 1 + 8)
    assert len(list(tmp_path.glob("omega-*.png"))) == 5


def test_shards_gives_a_point_for_every_run_and_four_plots(tmp_path: Path) -> None:
    done = study("shards", *SHARDS, "--json", "-", "--out", str(tmp_path))
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert (found["schema"], len(found["points"])) == ("stretto.study.shards/v1", 2 * (1 + 2))
    assert len(list(tmp_path.glob("shards-*.png"))) == 4


@pytest.mark.parametrize(
    "words",
    [
        ["omega", "--schedulers", "0"],
        ["omega", "--decisions", "fast"],
        ["omega", "--policy", "omega"],
        ["omega", "--fill", "0.9", "--load", "0.3"],
        ["shards", "--shards", "1,x"],
        ["shards", "--decisions-ms", "-1"],
    ],
)
def test_an_invalid_value_is_reported_by_name(words: list[str]) -> None:
    done = study(*words)
    assert done.exit_code == 2
    assert words[1].strip("-").split("-")[0] in done.stderr or words[2] in done.stderr
