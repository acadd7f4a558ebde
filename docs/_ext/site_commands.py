"""The command line and the error tree as Markdown, from click and from ``stretto.base.errors``."""

import inspect
from collections.abc import Iterator

import click
from site_source import comments_of, first_sentence

from stretto.base import errors
from stretto.cli.main import cli

#: Meanings of the two codes that need no comment in the code.
PLAIN = {errors.ExitCode.OK: "Success.", errors.ExitCode.ERROR: "Any other error."}


def commands() -> list[str]:
    """Every verb with its usage, text and options."""
    lines: list[str] = []
    context = click.Context(cli)
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        if command is not None:
            lines += _command(command, f"stretto {name}", 2)
    return lines


def _command(command: click.Command, name: str, level: int) -> Iterator[str]:
    context = click.Context(command, info_name=name)
    usage = " ".join([name, *command.collect_usage_pieces(context)])
    yield from ["", f"{'#' * level} {name}", "", "```text", usage, "```", ""]
    yield from _help(command.help or "")
    rows = [record for p in command.get_params(context) if (record := _row(p, context))]
    if rows:
        yield from ["", "| option | default | meaning |", "| --- | --- | --- |", *rows, ""]
    if isinstance(command, click.Group):
        for each in command.list_commands(context):
            inner = command.get_command(context, each)
            if inner is not None:
                yield from _command(inner, f"{name} {each}", level + 1)


def _help(text: str) -> Iterator[str]:
    """Paragraphs as they are; those that click must not wrap keep their lines."""
    for paragraph in inspect.cleandoc(text).split("\n\n"):
        if paragraph.startswith("\b"):
            yield from ["", "```text", *paragraph.splitlines()[1:], "```", ""]
        else:
            yield from ["", _escaped(" ".join(paragraph.split())), ""]


def _row(parameter: click.Parameter, context: click.Context) -> str:
    if not isinstance(parameter, click.Option) or parameter.hidden:
        return ""
    names = ", ".join(f"`{each}`" for each in (*parameter.opts, *parameter.secondary_opts))
    if not parameter.is_flag and not parameter.count:
        names += f" `{parameter.make_metavar(context)}`"
    default = parameter.default
    shown = "" if _is_empty(default) or parameter.is_flag else f"`{default}`"
    cells = (names, shown, _escaped(parameter.help or ""))
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _is_empty(value: object) -> bool:
    return value is None or callable(value) or value in ("", (), [], 0) or "Sentinel" in repr(value)


def _escaped(text: str) -> str:
    return text.replace("<", "&lt;").replace("*", "\\*").replace("[", "\\[")


def exit_codes() -> list[str]:
    """Each code with its meaning and the errors that end with it."""
    comments = comments_of(errors.__name__)
    lines = ["| code | name | meaning | errors |", "| --- | --- | --- | --- |"]
    kinds = [
        kind
        for name, kind in vars(errors).items()
        if inspect.isclass(kind) and issubclass(kind, errors.StrettoError) and name[0] != "_"
    ]
    for code in errors.ExitCode:
        meaning = comments.get(("ExitCode", code.name), "")
        ending = [kind for kind in kinds if kind.exit_code is code]
        meaning = meaning or PLAIN.get(code) or first_sentence(ending[0].__doc__)
        named = ", ".join(f"`{kind.__name__}`" for kind in ending)
        lines.append(f"| {int(code)} | `{code.name}` | {meaning} | {named} |")
    return lines


def error_kinds() -> list[str]:
    """Each kind of error with its code and sentence, in the order of the source."""
    lines = ["| `error.kind` | exit code | meaning |", "| --- | --- | --- |"]
    for name, kind in vars(errors).items():
        if inspect.isclass(kind) and issubclass(kind, errors.StrettoError) and name[0] != "_":
            lines.append(f"| `{name}` | {int(kind.exit_code)} | {first_sentence(kind.__doc__)} |")
    return lines
