"""Manual pages in roff, from the definitions of the commands.

``make man`` writes the pages. click-man would be a dependency and supports neither examples nor
groups of commands.
"""

import inspect
from collections.abc import Iterator
from textwrap import dedent
from typing import Final

import click

from stretto import __version__
from stretto.cli.options import Command

SECTION: Final = 1
"""Section of the manual: commands."""


def manual_pages(group: click.Group, name: str) -> dict[str, str]:
    """Return the page of a group and of each of its commands, by file name.

    Args:
        group: the commands.
        name: name of the program.
    """
    context = click.Context(group, info_name=name)
    pages = {_file(name): _page(group, name, context)}
    for each in group.list_commands(context):
        command = group.get_command(context, each)
        if isinstance(command, click.Group):
            pages |= manual_pages(command, f"{name} {each}")
        elif command is not None:
            pages[_file(f"{name} {each}")] = _page(command, f"{name} {each}", context)
    return pages


def _file(name: str) -> str:
    return f"{name.replace(' ', '-')}.{SECTION}"


def _page(command: click.Command, name: str, parent: click.Context) -> str:
    context = click.Context(command, info_name=name, parent=None)
    title = name.replace(" ", "-")
    text = inspect.cleandoc(command.help or "").replace("\b\n", "")
    usage = " ".join(command.collect_usage_pieces(context))
    lines = [
        f'.TH "{title.upper()}" "{SECTION}" "" "Stretto {__version__}" "Stretto"',
        ".SH NAME",
        f"{_escaped(title)} \\- {_escaped(command.get_short_help_str(200))}",
        ".SH SYNOPSIS",
        f"\\fB{_escaped(name)}\\fR {_escaped(usage)}",
        ".SH DESCRIPTION",
        *_paragraphs(text),
        *_options(command, context),
    ]
    if isinstance(command, click.Group):
        lines += _commands(command, context)
    if isinstance(command, Command):
        lines += [".SH EXAMPLES", ".nf", *map(_escaped, _example(command)), ".fi"]
    names = parent.command.name if isinstance(parent.command, click.Group) else ""
    if names and title != "stretto":
        lines += [".SH SEE ALSO", f"\\fBstretto\\fR({SECTION})"]
    return "\n".join(lines) + "\n"


def _paragraphs(text: str) -> Iterator[str]:
    for number, paragraph in enumerate(text.split("\n\n")):
        if number:
            yield ".PP"
        yield _escaped(" ".join(paragraph.split()))


def _options(command: click.Command, context: click.Context) -> Iterator[str]:
    records = [
        record
        for each in command.get_params(context)
        if isinstance(each, click.Option) and (record := each.get_help_record(context))
    ]
    if records:
        yield ".SH OPTIONS"
    for names, meaning in records:
        yield ".TP"
        yield f"\\fB{_escaped(names)}\\fR"
        yield _escaped(meaning)


def _commands(group: click.Group, context: click.Context) -> Iterator[str]:
    yield ".SH COMMANDS"
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is not None:
            yield ".TP"
            yield f"\\fB{_escaped(name)}\\fR"
            yield _escaped(command.get_short_help_str(200))


def _example(command: Command) -> list[str]:
    return dedent(command.example).strip().splitlines()


def _escaped(text: str) -> str:
    """Return text in which roff finds no requests, no escapes and no hyphenation."""
    safe = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{safe}" if safe.startswith((".", "'")) else safe
