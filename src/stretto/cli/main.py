"""The group of all verbs. It knows each by name and sentence, and imports one only to run it.

So `stretto --version` and `stretto --help` cost what Python and click cost, whatever the verbs
need; a test looks at the modules that were loaded.
"""

import os
import signal
import sys
import threading
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
from stretto.cli.verbs import Verb, known

#: Set by a shell that asks how a word may be completed.
COMPLETE: Final = "_STRETTO_COMPLETE"


class LazyGroup(click.Group):
    """A group whose commands are imported when they are run."""

    def verbs(self) -> dict[str, Verb]:
        """What it offers, in the order of the help."""
        return known()

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All verbs, in the order of the table."""
        return list(self.verbs())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one verb."""
        verb = self.verbs().get(cmd_name)
        if verb is None:
            return None
        module, attribute = verb.place.split(":")
        found = getattr(import_module(module), attribute)
        if not isinstance(found, click.Command):
            raise TypeError(f"{verb.place} is no command")
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The verb that is meant; a typo names the nearest."""
        verbs = self.verbs()
        if args and args[0] not in verbs and not args[0].startswith("-"):
            raise UnknownNameError("command", args[0], verbs)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of verbs, from the table alone."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, verb.sentence) for name, verb in self.verbs().items()])

    def main(  # type: ignore[override]  # click's overloads are about a mode that we do not have
        self, args: Sequence[str] | None = None, prog_name: str | None = None, **extra: Any
    ) -> Any:
        """Run a command line to its exit code; every error ends here."""
        if COMPLETE in os.environ:
            return super().main(args, self.name, complete_var=COMPLETE)
        sys.exit(self._run(list(sys.argv[1:] if args is None else args)))

    def _run(self, words: list[str]) -> int:
        """Parse and invoke; click's own loop would end a broken pipe its own way."""
        given = SharedOptions()
        try:
            with self.make_context(self.name, list(words), obj=given) as context:
                self.invoke(context)
            sys.stdout.flush()
        except click.exceptions.Exit as ended:
            return ended.exit_code
        except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001  (the one place for it)
            return self._report(error, given, words)
        return 0

    def _report(self, error: BaseException, given: SharedOptions, words: list[str]) -> int:
        as_json = bool(given.json) or wants_json_errors(words)
        return failures.report(error, as_json=as_json, verbose=given.verbose > 0)


def wants_json_errors(words: Sequence[str]) -> bool:
    """Whether a command line names ``--json``, for errors that come before it is parsed."""
    return any(word == "--json" or word.startswith("--json=") for word in words)


def program(kind: type[LazyGroup], name: str, words: str) -> click.Group:
    """A group as a program: with the options that all programs of ours have."""
    group = kind(
        name,
        help=words,
        params=shared_options(out=False),
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )
    return click.version_option(__version__, message="stretto %(version)s")(group)


HELP: Final = """One scheduler for services, batch, streaming and machine learning.

Data goes to stdout, everything else to stderr. Every command has --help with an example.
"""

cli = program(LazyGroup, "stretto", HELP)


def main() -> None:
    """The entry point of the ``stretto`` command."""
    start(cli)


def start(group: click.Group) -> None:
    """Run a group as the program that it is."""
    collector.set_thresholds()
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, terminate)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by whoever started us: what is said is for nobody
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115  (for good)
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")
    group.main()


if __name__ == "__main__":
    main()
