"""Every verb of the table exists, and shows an example that begins with its own name."""

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from stretto.cli.main import cli
from stretto.cli.verbs import VerbGroup, known


def lines_of_verbs() -> Iterator[tuple[str, ...]]:
    context = click.Context(cli)
    for name in known():
        found = cli.get_command(context, name)
        if isinstance(found, click.Group):
            yield from ((name, inner) for inner in found.list_commands(context))
        else:
            yield (name,)


@pytest.mark.parametrize("line", list(lines_of_verbs()), ids=" ".join)
def test_every_verb_has_help_with_an_example_whose_files_exist(
    line: tuple[str, ...], repo_root: Path
) -> None:
    result = CliRunner().invoke(cli, [*line, "--help"])
    assert result.exit_code == 0, result.stderr
    example = result.stdout.partition("Example:")[2]
    assert f"stretto {' '.join(line)}" in example
    files = re.findall(r"\bexamples/[\w./-]+", example)
    assert [each for each in files if not (repo_root / each).exists()] == []


@pytest.mark.parametrize("name", list(known()))
def test_every_verb_is_called_as_in_the_table(name: str) -> None:
    found = cli.get_command(click.Context(cli), name)
    assert found is not None
    assert found.name == name


def found_command(line: tuple[str, ...]) -> click.Command:
    command: click.Command = cli
    for name in line:
        assert isinstance(command, click.Group)
        command = command.get_command(click.Context(command), name) or command
    return command


@pytest.mark.parametrize("line", list(lines_of_verbs()), ids=" ".join)
def test_every_option_has_words_and_a_readable_value(line: tuple[str, ...]) -> None:
    context = click.Context(found_command(line))
    shown = [each.get_help_record(context) for each in context.command.params]
    for spelled, words in filter(None, shown):
        assert not words.startswith("["), spelled
        assert not {"TEXT", "INTEGER", "FLOAT", "RANGE"} & set(spelled.split()), spelled


@pytest.mark.parametrize(
    "name", [n for n, verb in known().items() if verb.group is VerbGroup.DAEMONS]
)
def test_daemons_offer_neither_a_result_nor_a_seed(name: str) -> None:
    options = {option for each in found_command((name,)).params for option in each.opts}
    assert not {"--json", "--seed"} & options


def numbers_of_verbs() -> Iterator[tuple[str, ...]]:
    """Every option that takes a number with a fraction, behind its verb."""
    for line in lines_of_verbs():
        for option in found_command(line).params:
            if isinstance(option.type, click.types.FloatParamType):
                yield (*line, option.opts[0])


@pytest.mark.parametrize("number", ["nan", "inf", "-1.0"])
@pytest.mark.parametrize("line", list(numbers_of_verbs()), ids=" ".join)
def test_a_number_without_an_end_or_below_0_is_refused(line: tuple[str, ...], number: str) -> None:
    result = CliRunner().invoke(cli, [*line, number])
    assert result.exit_code == 2
    assert f"Invalid value for '{line[-1]}': {number}" in result.stderr
