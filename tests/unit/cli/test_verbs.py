"""Every verb of the table exists, and shows an example that begins with its own name."""

from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner

from stretto.cli.main import cli
from stretto.cli.verbs import known


def lines_of_verbs() -> Iterator[tuple[str, ...]]:
    context = click.Context(cli)
    for name in known():
        found = cli.get_command(context, name)
        if isinstance(found, click.Group):
            yield from ((name, inner) for inner in found.list_commands(context))
        else:
            yield (name,)


@pytest.mark.parametrize("line", list(lines_of_verbs()), ids=" ".join)
def test_every_verb_has_help_with_an_example(line: tuple[str, ...]) -> None:
    result = CliRunner().invoke(cli, [*line, "--help"])
    assert result.exit_code == 0, result.stderr
    assert f"stretto {' '.join(line)}" in result.stdout.partition("Example:")[2]


@pytest.mark.parametrize("name", list(known()))
def test_every_verb_is_called_as_in_the_table(name: str) -> None:
    found = cli.get_command(click.Context(cli), name)
    assert found is not None
    assert found.name == name


def numbers_of_verbs() -> Iterator[tuple[str, ...]]:
    """Every option that takes a number with a fraction, behind its verb."""
    for line in lines_of_verbs():
        verb: click.Command = cli
        for name in line:
            assert isinstance(verb, click.Group)
            verb = verb.get_command(click.Context(verb), name) or verb
        for option in verb.params:
            if isinstance(option.type, click.types.FloatParamType):
                yield (*line, option.opts[0])


@pytest.mark.parametrize("number", ["nan", "inf", "-1.0"])
@pytest.mark.parametrize("line", list(numbers_of_verbs()), ids=" ".join)
def test_a_number_without_an_end_or_below_0_is_refused(line: tuple[str, ...], number: str) -> None:
    result = CliRunner().invoke(cli, [*line, number])
    assert result.exit_code == 2
    assert f"Invalid value for '{line[-1]}': {number}" in result.stderr
