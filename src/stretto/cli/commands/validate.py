"""``stretto validate``: checks input files without running anything."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import click
import msgspec

from stretto.base.errors import InputError, StrettoError
from stretto.cli import options
from stretto.cli.options import CommandContext
from stretto.cli.sources.checks import (
    fleet_content,
    manifests_content,
    profile_content,
    scenario_content,
)
from stretto.explain.words.amounts import format_count
from stretto.inputs.neutral.files import read_text
from stretto.inputs.objects.checked import CheckedObject
from stretto.sim.history.file_kinds import FileKind, kind_of_file

STDIN: Final = "-"


@dataclass(frozen=True)
class ValidateOptions:
    """Options of ``validate``."""

    #: The files and folders.
    files: tuple[Path, ...]
    #: Files with rules that profiles may name.
    plugin: tuple[Path, ...]


class CheckedFile(msgspec.Struct, frozen=True):
    """The result of one file."""

    #: Path of the file.
    file: str
    #: Kind of the file; empty if its content matches no kind.
    kind: str
    #: True if the file is valid.
    valid: bool
    #: Description of the content; empty for an invalid file.
    content: str = ""
    #: Error of the file; empty for a valid file.
    error: str = ""
    #: The objects of manifests, each with its pods and all of its errors.
    objects: tuple[CheckedObject, ...] = ()


class ValidationReport(msgspec.Struct, frozen=True):
    """The results of all files."""

    #: True if all files are valid.
    valid: bool
    #: The files in the given order.
    files: tuple[CheckedFile, ...]


@options.command(
    "validate",
    ValidateOptions,
    example="""
        stretto validate examples/quickstart.yaml
        stretto validate scenario.yaml profile.yaml manifests/ monday.jsonl.gz
        cat job.yaml | stretto validate -
    """,
)
@click.argument(
    "files",
    nargs=-1,
    required=True,
    metavar="FILE...",
    type=options.ExistingPath(exists=True, allow_dash=True, path_type=Path),
)
@options.PLUGIN
def validate(common: CommandContext, opts: ValidateOptions) -> None:
    """Check scenarios, profiles, manifests, recordings, traces, stores and run records.

    The kind of each file is recognised by its content; a folder contains manifests. Every file and
    every object of manifests is checked. Workloads become their pods, as in ``stretto plan``; the
    other files report their first error. Exits with 2 if a file cannot be used.
    """
    results = tuple(_checked(path, opts.plugin) for path in opts.files)
    console = common.console
    rows = [(each.file, each.kind or "?", each.content or "invalid") for each in results]
    wrong = [each for each in results if not each.valid]
    report = ValidationReport(not wrong, results)
    console.json("stretto.validate/v1", msgspec.to_builtins(report))
    console.table(["file", "kind", "content"], rows)
    errors = [text for each in wrong for text in _errors(each)]
    for text in errors[1:]:
        console.warn(text)
    if errors:
        raise InvalidFilesError(errors[0])


class InvalidFilesError(InputError):
    """Error: a file cannot be used; the message is that of the first such file."""

    def __init__(self, message: str) -> None:
        """Create the error from the message of a file."""
        super().__init__("FILE", None, "valid files")
        self._message = message

    def __str__(self) -> str:
        return self._message


def _errors(file: CheckedFile) -> list[str]:
    """Return all errors of a file: its own error, then those of its objects."""
    found = [text for each in file.objects for text in each.errors]
    return [file.error, *(text for text in found if text != file.error)]


def _checked(path: Path, plugins: tuple[Path, ...]) -> CheckedFile:
    """Check one file."""
    kind = None
    try:
        kind = FileKind.MANIFESTS if str(path) == STDIN else kind_of_file(path)
        if kind is None and path.suffix in (".yaml", ".yml"):
            read_text(path)  # a file without text has no kind
            kind = FileKind.SCENARIO  # its reader names the misspelt keys
        if kind is None:
            known = ", ".join(each.value for each in FileKind)
            raise InputError(str(path), "another kind of file", f"one of: {known}")
        if kind is FileKind.MANIFESTS:
            return _manifests(path)
        content = _CHECKS[kind](path, plugins)
    except StrettoError as error:
        return CheckedFile(str(path), kind.value if kind else "", False, error=str(error))
    return CheckedFile(str(path), kind.value, True, content)


def _manifests(path: Path) -> CheckedFile:
    """Check each object of some manifests."""
    from stretto.inputs.objects.checked import ObjectChecks

    checks = ObjectChecks()
    content = manifests_content(path, checks)
    objects = checks.objects()
    wrong = [text for each in objects for text in each.errors] + checks.errors
    name = FileKind.MANIFESTS.value
    if wrong:
        return CheckedFile(str(path), name, False, error=wrong[0], objects=objects)
    return CheckedFile(str(path), name, True, content, objects=objects)


def _recording(path: Path, _plugins: tuple[Path, ...]) -> str:
    from stretto.inputs.objects.recordings import load_recording

    found = load_recording(path)
    cut = ", cut off" if found.cut_off else ""
    objects = format_count(len(found.start), "object")
    return f"{objects}, {format_count(len(found.changes), 'change')} in {found.seconds:g} s{cut}"


def _trace(path: Path, _plugins: tuple[Path, ...]) -> str:
    from stretto.inputs.traces.formats import TRACES
    from stretto.inputs.traces.recognition import recognised

    found = recognised(path)
    TRACES.get(found.format).check(path, found.what)
    return f"format {found.format}"


def _store(path: Path, _plugins: tuple[Path, ...]) -> str:
    from stretto.stores.embedded.sqlite import read_store

    return format_count(len(read_store(path)), "object")


def _run(path: Path, _plugins: tuple[Path, ...]) -> str:
    from contextlib import closing

    from stretto.explain.records.record_file import RecordFile

    with closing(RecordFile(path)) as file:
        return f"run {file.facts().name}"


_CHECKS: Final[Mapping[FileKind, Callable[[Path, tuple[Any, ...]], str]]] = {
    FileKind.SCENARIO: scenario_content,
    FileKind.FLEET: fleet_content,
    FileKind.PROFILE: profile_content,
    FileKind.RECORDING: _recording,
    FileKind.TRACE: _trace,
    FileKind.TABLE: _trace,
    FileKind.STORE: _store,
    FileKind.RUN: _run,
}
