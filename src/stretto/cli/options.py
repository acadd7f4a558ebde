"""Options that all commands share: ``--json``, ``--seed``, ``-q``, ``-v``, and ``--out`` for files.

Shared options go before or after the command; if both are given, the later one wins. ``command``
creates a command with an example; the function receives the options of the command as one frozen
struct.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from math import isfinite
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click
from click.core import ParameterSource

from stretto.base.errors import suggestion, with_hint
from stretto.cli import sinks
from stretto.cli.console import Console

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from stretto.explain.records.curves import CurvePlot

Options = TypeVar("Options")

#: Kernel tier, for commands that run a plane.
TIER: Final = click.option(
    "--tier",
    type=click.Choice(["auto", "numba", "numpy"]),
    default="auto",
    help="Kernels: compiled (numba), NumPy (numpy), or compiled once they exist [auto].",
)

#: Context of a kubeconfig, for commands that read or run beside a cluster.
CONTEXT: Final = click.option(
    "--context", default="", metavar="NAME", help="Context of the kubeconfig."
)

#: Format of a trace, for commands that read traces.
TRACE_FORMAT: Final = click.option(
    "--format", metavar="NAME", help="Format of the trace [recognised by its content]."
)

#: Nodes for a trace that has none.
NODES_LIKE: Final = click.option(
    "--nodes-like", metavar="SHAPE:N", help="N nodes of a shape: 64cpu-256gib:200."
)


class FiniteRange(click.FloatRange):
    """A range of finite numbers; click accepts NaN in any range, and infinity in open ranges."""

    name = "number"

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        """Return ``X``."""
        return "X"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Convert a value, and refuse values that are not finite."""
        number = super().convert(value, param, ctx)
        if not isfinite(number):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return number


class WholeRange(click.IntRange):
    """A range of whole numbers; messages call it so."""

    name = "whole number"

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        """Return ``N``."""
        return "N"


class ExistingPath(click.Path):
    """A path that must exist; the message about a missing path contains a similar name."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Convert a value, and refuse a missing path."""
        path = Path(str(value))
        if not (path.exists() or (self.allow_dash and str(value) == "-")):
            from stretto.inputs.neutral.files import similar_path

            near = similar_path(path)
            what = "is a link to a missing file" if path.is_symlink() else "does not exist"
            self.fail(with_hint(f"{path} {what}", suggestion([near] if near else [])))
        return super().convert(value, param, ctx)


# Ranges: at least 1, at least 0, above 0, from 0 to 1.
POSITIVE: Final = WholeRange(min=1)
COUNT: Final = WholeRange(min=0)
ABOVE_0: Final = FiniteRange(min=0, min_open=True)
SHARE: Final = FiniteRange(0, 1)

#: Default seed, so that runs are reproducible.
DEFAULT_SEED: Final = 0
#: An input file: the file must exist, otherwise exit 2.
INPUT_FILE: Final = ExistingPath(exists=True, dir_okay=False, readable=True, path_type=Path)
#: An input file or a folder: the path must exist, otherwise exit 2.
INPUT_PATH: Final = ExistingPath(exists=True, readable=True, path_type=Path)
#: Plugin files, for commands with a profile.
PLUGIN: Final = click.option(
    "--plugin",
    multiple=True,
    type=INPUT_FILE,
    metavar="FILE.py",
    help="File with rules that the profile may name; may be repeated.",
)


Completer = Callable[[click.Context, click.Parameter, str], list["CompletionItem"]]
"""Function that proposes values of a parameter that begin with a text."""


def completes(what: str) -> Completer:
    """Return the completion of a parameter by a function of ``stretto.cli.completion``."""

    def propose(
        context: click.Context, _parameter: click.Parameter, prefix: str
    ) -> "list[CompletionItem]":
        from stretto.cli import completion

        return completion.proposed(what, context.params, prefix)

    return propose


@dataclass
class SharedOptions:
    """The shared options parsed so far."""

    #: Target of the JSON output; empty for none.
    json: str = ""
    #: The seed; ``None`` if not given.
    seed: int | None = None
    #: True if only data and errors are written.
    quiet: bool = False
    #: True if details are written.
    verbose: bool = False
    #: The output folder; ``None`` if not given.
    out: Path | None = None


@dataclass(frozen=True)
class CommandContext:
    """The first argument of every command."""

    #: Output streams.
    console: Console
    #: Seed of the random number generator.
    seed: int
    #: True if the seed was given explicitly.
    seed_given: bool
    #: The output folder, checked and created; ``None`` if not given.
    out: Path | None

    def result(self, schema: str, payload: Mapping[str, Any], plots: "Sequence[CurvePlot]") -> None:
        """Write the JSON output, keep the result, and draw its plots into the output folder."""
        self.console.json(schema, payload, plots)
        if self.out is None:
            return
        from stretto.sim.plots.figures import draw_plots

        for name, content in draw_plots(plots).items():
            sinks.write_whole(self.out / name, content)
            self.console.note(f"written: {self.out / name}")


def _keep(context: click.Context, parameter: click.Parameter, value: object) -> None:
    """Store a shared option if it was given; the last one wins."""
    given = context.ensure_object(SharedOptions)
    if context.get_parameter_source(str(parameter.name)) is not ParameterSource.DEFAULT:
        setattr(given, str(parameter.name), value)


def _shared(*names: str, **settings: Any) -> click.Option:
    return click.Option(names, expose_value=False, callback=_keep, **settings)


def shared_options(*, out: bool = True, result: bool = True) -> list[click.Parameter]:
    """Create the shared options.

    Args:
        out: adds --out, for commands that write files.
        result: adds --json and --seed, for commands that end with a result; daemons do not.
    """
    options: list[click.Parameter] = []
    if result:
        options = [
            _shared("--json", metavar="PATH|-", help="Write the result as JSON; - is stdout."),
            _shared("--seed", type=COUNT, metavar="N", help="Random seed [0]."),
        ]
    options += [
        _shared("-q", "--quiet", is_flag=True, help="Data and errors only: no progress, no notes."),
        _shared("-v", "--verbose", is_flag=True, help="More output."),
    ]
    folder = click.Path(path_type=Path)
    if out:
        options.append(
            _shared("--out", type=folder, metavar="DIR", help="Folder for reports and plots.")
        )
    return options


class Command(click.Command):
    """A command whose help lists its own options, the shared options and an example."""

    def __init__(
        self, name: str, example: str, shared: list[click.Parameter], **settings: Any
    ) -> None:
        super().__init__(name, **settings)
        #: Command lines that work, one per line.
        self.example = example
        #: Names of the shared options, which the help lists separately.
        self.shared_names: set[str] = set()
        for option in shared:
            self.params.append(option)
            self.shared_names.add(str(option.name))

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options of the command first, then the shared ones under a separate heading."""
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
        """Write the example verbatim."""
        formatter.write_paragraph()
        formatter.write_heading("Example")
        for line in dedent(self.example).strip().splitlines():
            formatter.write(f"  {line}\n")


Body = Callable[[CommandContext, Options], None]


def command(
    name: str,
    takes: Callable[..., Options],
    *,
    example: str,
    out: bool = False,
    result: bool = True,
) -> Callable[[Body[Options]], Command]:
    """Create a command from a function, which is called as ``body(common, takes(**own options))``.

    Args:
        name: the command's name.
        takes: a frozen dataclass or struct with one field per option.
        example: working command lines, shown by ``--help``.
        out: true if the command writes files; then it has ``--out``.
        result: true if the command ends with a result; then it has ``--json`` and ``--seed``.
    """

    def decorate(body: Body[Options]) -> Command:
        def callback(**own: Any) -> None:
            context = click.get_current_context()
            common = common_of(context.ensure_object(SharedOptions))
            try:
                body(common, takes(**own))
            finally:
                common.console.release()

        parameters = list(reversed(getattr(body, "__click_params__", [])))
        shared = shared_options(out=out, result=result)
        return Command(
            name, example, shared, params=parameters, callback=callback, help=body.__doc__
        )

    return decorate


def common_of(given: SharedOptions) -> CommandContext:
    """Check the shared options; refuse targets that are not writable.

    Raises:
        InputError: the file or folder is not writable.
    """
    if given.json:
        sinks.check_file("--json", given.json)
    if given.out is not None:
        sinks.check_folder("--out", given.out)
    writes_files = given.out is not None or given.json not in ("", sinks.STDOUT)
    console = Console(quiet=given.quiet, verbose=given.verbose, json=given.json, holds=writes_files)
    seed = DEFAULT_SEED if given.seed is None else given.seed
    return CommandContext(console, seed, given.seed is not None, given.out)


def given(names: Collection[str]) -> list[str]:
    """Parameters among some that the command line has, as it writes them."""
    context = click.get_current_context()
    return [
        each.human_readable_name if isinstance(each, click.Argument) else max(each.opts, key=len)
        for each in context.command.params
        if each.name in names
        and context.get_parameter_source(str(each.name)) is ParameterSource.COMMANDLINE
    ]


def refuse_given(names: Collection[str], why: str) -> None:
    """Refuse parameters that have no effect beside others.

    Args:
        names: the parameters.
        why: the end of the message behind their names, such as ``only with --tasks``.

    Raises:
        UsageError: the command line has one.
    """
    found = given(names)
    if found:
        text = f"{' and '.join(found)}: {why}."
        raise click.UsageError(text, click.get_current_context())


def fields_of(*kinds: type) -> frozenset[str]:
    """Names of the options of dataclasses of options."""
    return frozenset(each.name for kind in kinds for each in fields(kind))
