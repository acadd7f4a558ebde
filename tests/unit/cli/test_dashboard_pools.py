"""Options of the dashboard about what is around a scheduler."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from stretto.cli.main import cli

EXAMPLE = Path(__file__).parents[3] / "examples" / "quickstart.yaml"


@pytest.mark.parametrize(
    ("option", "value"), [("--master", "ftp://host"), ("--fleet", "nowhere.yaml")]
)
def test_a_pool_that_cannot_be_read_is_refused(option: str, value: str) -> None:
    words = ["dashboard", "--port", "0", "--on", str(EXAMPLE), option, value]
    result = CliRunner().invoke(cli, words)
    assert result.exit_code == 2
    assert option.removeprefix("--fleet") in result.output
    assert value in result.output
