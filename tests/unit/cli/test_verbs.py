"""Every verb of the table exists, says what the table says, and shows an example."""

import pytest
from click.testing import CliRunner

from stretto.cli.main import cli, known


@pytest.mark.parametrize("verb", list(known()))
def test_every_verb_has_help_with_an_example(verb: str) -> None:
    result = CliRunner().invoke(cli, [verb, "--help"])
    assert result.exit_code == 0, result.stderr
    assert f"stretto {verb}" in result.stdout.partition("Example:")[2]
