"""The group of all commands, which imports a command only when it runs.

`stretto --version` and `stretto --help` therefore import nothing beyond Python and click; a test
checks the loaded modules.
"""

import os
import signal
import sys
import threading
import warnings
from collections.abc import Sequence
from importlib import import_module
from typing import Any, Final

import click

from stretto import __version__
from stretto.base import collector
from stretto.base.errors import UnknownNameError
from stretto.cli import failures
from stretto.cli.interrupts import terminate
from stretto.cli.options import SharedOptions, shared_options
from stretto.cli.verbs import Verb, VerbGroup, known

#: Variable that a shell sets to request completions.
COMPLETE: Final = "_STRETTO_COMPLETE"
#: Output of --version.
VERSION: Final = f"stretto {__version__}"


class LazyGroup(click.Group):
    """A group whose commands are imported on demand."""

    def verbs(self) -> dict[str, Verb]:
        """Return the commands, in the order of the help."""
        return known()

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands, in the order of the table."""
        return list(self.verbs())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command."""
        verb = self.verbs().get(cmd_name)
        if verb is None:
            return None
        module, attribute = verb.place.split(":")
        found = getattr(import_module(module), attribute)
        if not isinstance(found, click.Command):
            raise TypeError(f"{verb.place} is not a command")
        return found

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the shared options.

        Explain an option of a command that stands before the command.
        """
        words = list(args)
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            moved = self._moved_behind(ctx, words, error.option_name)
            if not moved:
                raise
            text = f"{error.option_name} follows the command: {ctx.command_path} {moved}"
            raise click.UsageError(text, ctx) from error

    def _moved_behind(self, ctx: click.Context, words: list[str], name: str) -> str:
        """Return the command line with an option moved to its end.

        Empty if its command has no such option.
        """
        at = next(i for i, each in enumerate(words) if each.partition("=")[0] == name)
        command: click.Command = self
        for each in words[at + 1 :]:
            if isinstance(command, click.Group):
                command = command.get_command(ctx, each) or command
        named = [(each, [*each.opts, *each.secondary_opts]) for each in command.params]
        found = [each for each, names in named if name in names]
        if not found:
            return ""
        takes_value = isinstance(found[0], click.Option) and not found[0].is_flag
        end = at + (2 if takes_value and "=" not in words[at] else 1)
        return " ".join([*words[:at], *words[end:], *words[at:end]])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Resolve a command; an unknown name raises an error with the nearest names.

        ``help`` and ``version`` are aliases of --help and --version.
        """
        verbs = self.verbs()
        if args and args[0] == "help" and "help" not in verbs:
            if len(args) == 1:
                click.echo(ctx.get_help())
                ctx.exit()
            args = [*args[1:], "--help"]
        if args == ["version"] and "version" not in verbs:
            click.echo(VERSION)
            ctx.exit()
        if args and args[0] not in verbs and not args[0].startswith("-"):
            raise UnknownNameError("command", args[0], verbs)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands by group, from the table alone."""
        verbs = self.verbs()
        width = max(map(len, verbs), default=0)
        for group in VerbGroup:
            rows = [(n.ljust(width), v.sentence) for n, v in verbs.items() if v.group is group]
            if rows:
                with formatter.section(group.value):
                    formatter.write_dl(rows)

    def main(  # type: ignore[override]  # click overloads by standalone_mode, which is unused here
        self, args: Sequence[str] | None = None, prog_name: str | None = None, **extra: Any
    ) -> Any:
        """Run a command line and exit; every error is handled here."""
        if COMPLETE in os.environ:
            return super().main(args, self.name, complete_var=COMPLETE)
        sys.exit(self._run(list(sys.argv[1:] if args is None else args)))

    def _run(self, arguments: list[str]) -> int:
        """Parse and invoke; click's own loop handles a broken pipe differently."""
        given = SharedOptions()
        try:
            with self.make_context(self.name, list(arguments), obj=given) as context:
                self.invoke(context)
            sys.stdout.flush()
        except click.exceptions.Exit as ended:
            return ended.exit_code
        except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001  (the only handler)
            return self._report(error, given, arguments)
        return 0

    def _report(self, error: BaseException, given: SharedOptions, arguments: list[str]) -> int:
        as_json = bool(given.json) or wants_json_errors(arguments)
        return failures.report(error, as_json=as_json, verbose=given.verbose)


def wants_json_errors(arguments: Sequence[str]) -> bool:
    """Return whether a command line contains ``--json``, for errors before it is parsed."""
    return any(each == "--json" or each.startswith("--json=") for each in arguments)


def program(kind: type[LazyGroup], name: str, description: str) -> click.Group:
    """Make a group a program, with the shared options and --version."""
    group = kind(
        name,
        help=description,
        params=shared_options(out=False),
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )
    return click.version_option(__version__, "-V", "--version", message=VERSION)(group)


HELP: Final = """A cluster scheduler for services, batch, streaming and machine learning.

Data goes to stdout, everything else to stderr. Every command has --help with an example.
`stretto docs PAGE` prints a page of the documentation.
"""

cli = program(LazyGroup, "stretto", HELP)


def main() -> None:
    """The entry point of the ``stretto`` command."""
    start(cli)


def start(group: click.Group) -> None:
    """Run a group as the program of this process."""
    collector.set_thresholds()
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, terminate)
        signal.signal(signal.SIGINT, signal.default_int_handler)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the parent process: discard output
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115  (stays open)
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")
    warnings.showwarning = _show_warning
    group.main()


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    """Write a warning of the library like a warning of the command line."""
    click.echo(f"stretto: warning: {message}", err=True)


if __name__ == "__main__":
    main()
