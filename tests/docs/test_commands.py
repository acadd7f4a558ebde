"""Every command that a document shows exists, with its options."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from stretto.cli.main import cli

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
_SHOWN = re.compile(r"^ *(?:\$ )?(stretto [a-z].*)$|`(stretto [a-z][^`]*)`", re.MULTILINE)
#: Not commands: aliases of options, examples of a wrong name, and lists of verbs.
_OTHERS = re.compile(r"stretto (help|version|rnu)\b|stretto [a-z ]+\|")
_ENDS = {"|", ">", "2>", "&&", "&"}


def shown(path: Path) -> Iterator[list[str]]:
    """The words after ``stretto`` of each command of a document, up to a pipe or a comment."""
    text = re.sub(r"\\\n *", " ", path.read_text(encoding="utf-8"))
    for block, inline in _SHOWN.findall(text):
        line = re.sub(r"[…\[\]]|\.\.\.", "", block or inline)
        if not _OTHERS.match(line):
            words = shlex.split(line, comments=True)[1:]
            yield words[: next((i for i, word in enumerate(words) if word in _ENDS), None)]


def fault(words: list[str]) -> str:
    """Return the problem of a command; empty without one."""
    command: click.Command = cli
    while isinstance(command, click.Group) and words and re.match("[a-z]", words[0]):
        name, *words = words
        found = command.get_command(click.Context(command), name)
        if found is None:
            return f"{command.name} has no command {name}"
        command = found
    parameters = [*command.params, *cli.params]
    known = {"-h", "--help", *(o for p in parameters for o in (*p.opts, *p.secondary_opts))}
    given = (word.partition("=")[0] for word in words if re.match("--?[A-Za-z]", word))
    options = (word if word.startswith("--") else word[:2] for word in given)
    return ", ".join(f"{command.name} has no option {o}" for o in options if o not in known)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_command_of_a_document_exists_with_its_options(path: Path) -> None:
    assert [found for words in shown(path) if (found := fault(words))] == []


def test_commands_and_options_that_do_not_exist_are_found() -> None:
    assert fault(["run", "x.yaml", "--sped", "0"]) == "run has no option --sped"
    assert fault(["federation", "plann"]) == "federation has no command plann"
