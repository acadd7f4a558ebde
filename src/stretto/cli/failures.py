"""Turns any exception that ends a command into a message and an exit code.

Commands raise; they never print errors or call `sys.exit`. With ``--json`` the message is one JSON
object on stderr, so that programs can read failures as well as data.
"""

import errno
import json
import os
import sys
import traceback
from typing import Final, NamedTuple

import click

from stretto.base.errors import ExitCode, MissingExtraError, StrettoError, with_hint

#: Exit code of a program after its reader closed the pipe (128 + SIGPIPE).
BROKEN_PIPE: Final = 141
#: Version of the JSON error object.
SCHEMA: Final = "stretto.error/v1"
#: I/O errors that concern the path and not the device.
_BAD_PATHS: Final = (FileNotFoundError, PermissionError, IsADirectoryError, NotADirectoryError)
#: Numbers of such errors without a Python class.
_BAD_NUMBERS: Final = frozenset({errno.ENAMETOOLONG, errno.ELOOP})
#: Maximum length of a path in a message.
_PATH_CHARS: Final = 200
#: Hints by I/O error.
_HINTS: Final = {
    errno.ENOSPC: "free space and retry, or write elsewhere",
    errno.EDQUOT: "free space and retry, or write elsewhere",
    errno.ENAMETOOLONG: "use a shorter path",
    errno.EFBIG: "write elsewhere, or raise the file size limit",
}


#: Extra that installs each optional module.
EXTRAS: Final = {
    "aiohttp": "kube",
    "uvloop": "kube",
    "yarl": "kube",
    "numba": "kernels",
    "llvmlite": "kernels",
    "matplotlib": "reports",
    "starlette": "web",
    "uvicorn": "web",
    "cryptography": "web",
    "jinja2": "web",
    "re2": "web",
    "jsonpath": "web",
    "cronsim": "web",
}


#: Hints by the option of a usage error.
_USAGE_HINTS: Final = {
    "--json": "Give a path, or - for standard output.",
    "-o": "--json - writes JSON; -o is an option of lists, such as `stretto get`.",
    "--output": "--json - writes JSON; --output is an option of lists, such as `stretto get`.",
    "--out": "It is an option of run, simulate, compare, study, bench, chaos and record.",
}


class Terminated(KeyboardInterrupt):
    """SIGTERM, which is handled like Ctrl-C, so that the partial report is kept."""


class CommandFailure(NamedTuple):
    """The error that ended a command, ready to be printed."""

    #: Class of the error, for programs.
    kind: str
    #: Message; empty prints nothing.
    message: str
    #: Exit code of the process.
    code: int
    #: True if the error may be a bug in Stretto; then `-v` prints the traceback.
    unexpected: bool = False


def failure_of(error: BaseException) -> CommandFailure:
    """Return message and exit code of an exception."""
    kind = type(error).__name__
    if isinstance(error, StrettoError):
        return CommandFailure(kind, str(error), int(error.exit_code))
    if isinstance(error, click.ClickException):
        return CommandFailure(kind, _usage(error), error.exit_code)
    if isinstance(error, Terminated):
        return CommandFailure(kind, "terminated", int(ExitCode.INTERRUPTED))
    if isinstance(error, KeyboardInterrupt | click.Abort):
        return CommandFailure("Interrupted", "interrupted", int(ExitCode.INTERRUPTED))
    if isinstance(error, BrokenPipeError):
        return CommandFailure(kind, "", BROKEN_PIPE)
    if isinstance(error, OSError):
        bad = isinstance(error, _BAD_PATHS) or error.errno in _BAD_NUMBERS
        return CommandFailure(
            kind, _of_system(error), int(ExitCode.USAGE if bad else ExitCode.ERROR)
        )
    if isinstance(error, ModuleNotFoundError) and _extra_of(error):
        missing = MissingExtraError("this command", _extra_of(error))
        return CommandFailure(type(missing).__name__, str(missing), int(missing.exit_code))
    if isinstance(error, MemoryError):
        return CommandFailure(kind, "out of memory; try a smaller input", int(ExitCode.ERROR))
    if isinstance(error, RecursionError):
        return CommandFailure(
            kind, "the input is nested too deeply", int(ExitCode.ERROR), unexpected=True
        )
    text = f"{kind}: {error}" if str(error) else kind
    return CommandFailure(kind, f"unexpected {text}", int(ExitCode.ERROR), unexpected=True)


def _extra_of(error: ModuleNotFoundError) -> str:
    """Return the extra that installs a missing module; empty if no extra does."""
    return EXTRAS.get((error.name or "").partition(".")[0], "")


def _usage(error: click.ClickException) -> str:
    """Return the message of a usage error, with a reference to the help."""
    text = error.format_message().strip()
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        return f"missing command\n\n{text}"
    hint = _USAGE_HINTS.get(_option(error), "")
    text = " ".join(f"{error.message if hint else text} {hint}".split())
    context = getattr(error, "ctx", None)
    return f"{text} (see `{context.command_path} --help`)" if context is not None else text


def _option(error: click.ClickException) -> str:
    """Return the option of a usage error; empty if the error has none."""
    return str(getattr(error, "option_name", "") or "")


def _of_system(error: OSError) -> str:
    """Return the message of an I/O error, with its path."""
    reason = error.strerror or str(error) or type(error).__name__
    hint = _HINTS.get(error.errno or 0, "")
    path = str(error.filename or "")
    path = path if len(path) <= _PATH_CHARS else f"{path[:_PATH_CHARS]}…"
    return with_hint(f"{path}: {reason}" if path else reason, hint)


def report(error: BaseException, *, as_json: bool, verbose: bool) -> int:
    """Print the error that ended a command to stderr; return the exit code."""
    failure = failure_of(error)
    if failure.code == BROKEN_PIPE:
        _drop_output()
        return failure.code
    try:
        if verbose and failure.unexpected:
            traceback.print_exception(error, file=sys.stderr)
        print_failure(failure, as_json=as_json, verbose=verbose)
    except BrokenPipeError:
        _drop_output()
    return failure.code


def print_failure(failure: CommandFailure, *, as_json: bool, verbose: bool) -> None:
    """Write the message, or the JSON object, to stderr."""
    hint = "-v shows the traceback" if failure.unexpected and not verbose else ""
    if as_json:
        fields = {"kind": failure.kind, "message": failure.message, "exit_code": failure.code}
        click.echo(
            json.dumps({"schema": SCHEMA, "error": fields | ({"hint": hint} if hint else {})}),
            err=True,
        )
    elif failure.code == ExitCode.INTERRUPTED:
        click.echo(f"stretto: {failure.message}", err=True)
    else:
        behind = f" ({hint})" if hint else ""
        click.echo(f"stretto: error: {failure.message}{behind}", err=True)


def _drop_output() -> None:
    """Redirect stdout to /dev/null, so that the interpreter's last flush does not fail."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
    except (OSError, ValueError):
        pass
