"""What every command shares: ``--json``, ``--seed``, ``-q``, ``-v``, and ``--out`` where it writes.

They may stand before the verb or behind it; what stands behind wins. A command is made by
``command``: it names an example, and its own options arrive as one frozen struct, so that no
function takes a dozen arguments.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from textwrap import dedent
from typing import Any, Final, TypeVar

import click
from click.core import ParameterSource

from stretto.cli import sinks
from stretto.cli.console import Console

Options = TypeVar("Options")

#: Which kernels decide, for verbs that run a plane.
TIER: Final = click.option(
    "--tier",
    type=click.Choice(["auto", "numba", "numpy"]),
    default="auto",
    help="Kernels: compiled (numba), NumPy (numpy), or compiled once they exist [auto].",
)
#: Rules of the user's own, for verbs that take a profile.
PLUGIN: Final = click.option(
    "--plugin",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE.py",
    help="A file with rules that the profile may name; may be given again.",
)


class FiniteRange(click.FloatRange):
    """A range of numbers that have an end: NaN passes every comparison, infinity many."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number, or a complaint."""
        number = super().convert(value, param, ctx)
        if not isfinite(number):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return number


# Ranges of numbers: 1 and more, 0 and more, more than 0, a part of a whole.
POSITIVE: Final = click.IntRange(min=1)
COUNT: Final = click.IntRange(min=0)
ABOVE_0: Final = FiniteRange(min=0, min_open=True)
SHARE: Final = FiniteRange(0, 1)

#: Seed where none is given, so that two runs agree.
DEFAULT_SEED: Final = 0
#: A file that is read: it must be there, and no folder; otherwise exit 2.
INPUT_FILE: Final = click.Path(exists=True, dir_okay=False, readable=True, path_type=Path)


@dataclass
class SharedOptions:
    """The shared options as they stood on the command line so far."""

    #: Where the JSON twin goes; empty where none is wanted.
    json: str = ""
    #: The seed, where one was given.
    seed: int | None = None
    #: Whether only data and errors are wanted.
    quiet: bool = False
    #: How often ``-v`` was given.
    verbose: int = 0
    #: The output folder, where one was given.
    out: Path | None = None


@dataclass(frozen=True)
class CommandContext:
    """What every command is handed first."""

    #: Where it speaks.
    console: Console
    #: The seed of every draw.
    seed: int
    #: Whether the seed was given, or is the default.
    seed_given: bool
    #: The output folder, checked and made; None where none was given.
    out: Path | None


def _keep(context: click.Context, parameter: click.Parameter, value: object) -> None:
    """Note a shared option where it was given; the later one wins."""
    given = context.ensure_object(SharedOptions)
    if context.get_parameter_source(str(parameter.name)) is not ParameterSource.DEFAULT:
        setattr(given, str(parameter.name), value)


def _shared(*names: str, **settings: Any) -> click.Option:
    return click.Option(names, expose_value=False, callback=_keep, **settings)


def shared_options(*, out: bool = True) -> list[click.Parameter]:
    """The options that every command has; ``out`` for those that write files."""
    options: list[click.Parameter] = [
        _shared("--json", metavar="PATH|-", help="Write the result as JSON; - is stdout."),
        _shared("--seed", type=COUNT, metavar="N", help="Seed of every draw [0]."),
        _shared("-q", "--quiet", is_flag=True, help="Data and errors only: no progress, no notes."),
        _shared("-v", "--verbose", count=True, help="Say more; twice for still more."),
    ]
    folder = click.Path(path_type=Path)
    if out:
        options.append(
            _shared("--out", type=folder, metavar="DIR", help="Folder for reports and plots.")
        )
    return options


class Command(click.Command):
    """A verb: its own options, then the shared ones, then an example."""

    def __init__(self, name: str, example: str, out: bool, **settings: Any) -> None:
        super().__init__(name, **settings)
        #: Command lines that work, one a line.
        self.example = example
        #: Names of the shared options, listed apart in the help.
        self.shared_names: set[str] = set()
        for option in shared_options(out=out):
            self.params.append(option)
            self.shared_names.add(str(option.name))

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Own options first, shared ones under their own heading."""
        own: list[tuple[str, str]] = []
        shared: list[tuple[str, str]] = []
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None and isinstance(parameter, click.Option):
                (shared if parameter.name in self.shared_names else own).append(record)
        for heading, records in (("Options", own), ("Options of every command", shared)):
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The example, as it is typed."""
        formatter.write_paragraph()
        formatter.write_heading("Example")
        for line in dedent(self.example).strip().splitlines():
            formatter.write(f"  {line}\n")


Body = Callable[[CommandContext, Options], None]


def command(
    name: str, takes: Callable[..., Options], *, example: str, out: bool = False
) -> Callable[[Body[Options]], Command]:
    """Make a verb of a function: ``body(common, takes(**own options))``.

    Args:
        name: the verb as it is typed.
        takes: a frozen dataclass or struct with a field for each own option.
        example: a command line that works, shown by ``--help``.
        out: whether it writes files, and so has ``--out``.
    """

    def decorate(body: Body[Options]) -> Command:
        def callback(**own: Any) -> None:
            context = click.get_current_context()
            body(common_of(context.ensure_object(SharedOptions)), takes(**own))

        parameters = list(reversed(getattr(body, "__click_params__", [])))
        return Command(name, example, out, params=parameters, callback=callback, help=body.__doc__)

    return decorate


def common_of(given: SharedOptions) -> CommandContext:
    """The shared options, settled; targets that cannot be written are refused here.

    Raises:
        InputError: the file or the folder cannot be written.
    """
    if given.json:
        sinks.check_file("--json", given.json)
    if given.out is not None:
        sinks.check_folder("--out", given.out)
    console = Console(quiet=given.quiet, verbose=given.verbose, json=given.json)
    seed = DEFAULT_SEED if given.seed is None else given.seed
    return CommandContext(console, seed, given.seed is not None, given.out)
