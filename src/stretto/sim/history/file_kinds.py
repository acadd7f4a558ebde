"""Recognizes the kind of a file by its content, so that all commands accept the same files."""

import re
from collections.abc import Collection
from enum import Enum
from pathlib import Path
from typing import Final

import msgspec

from stretto.base.errors import InputError
from stretto.explain.records.record_file import APPLICATION as RUN_APPLICATION
from stretto.framework.profile.kube_config import KIND as PROFILE_KIND
from stretto.inputs.neutral.files import encoding_of
from stretto.inputs.neutral.streams import START, read_start
from stretto.inputs.traces.formats import TRACES
from stretto.inputs.traces.recognition import recognise
from stretto.stores.embedded.schema import APPLICATION as STORE_APPLICATION


class FileKind(Enum):
    """Kind of a file."""

    #: Nodes and workloads for ``stretto run``.
    SCENARIO = "scenario"
    #: Member clusters and objects of a federation.
    FLEET = "fleet"
    #: A scheduler configuration.
    PROFILE = "profile"
    #: Kubernetes objects.
    MANIFESTS = "manifests"
    #: The objects of a cluster and their changes.
    RECORDING = "recording"
    #: A table of pods, jobs or nodes of a published trace.
    TRACE = "trace"
    #: A table of another form, which a column map can describe.
    TABLE = "table without a known format"
    #: A durable store.
    STORE = "store"
    #: The record of a run.
    RUN = "run record"


USES: Final[dict[FileKind, str]] = {
    FileKind.SCENARIO: "stretto run {path}",
    FileKind.FLEET: "stretto run {path}",
    FileKind.PROFILE: "stretto run SCENARIO.yaml --profile {path}",
    FileKind.MANIFESTS: "stretto plan {path}",
    FileKind.RECORDING: "stretto simulate {path}",
    FileKind.TRACE: "stretto simulate --format NAME --pods {path}",
    FileKind.TABLE: "stretto convert --columns MAP.yaml {path} OUT.jsonl.gz",
    FileKind.STORE: "stretto get pods --on sqlite:{path}",
    FileKind.RUN: "stretto get pods --on {path}",
}
"""The command that reads each kind of file."""

_SQLITE: Final = b"SQLite format 3\0"
_APPLICATION_AT: Final = 68
"""Offset of the application id in a SQLite file (https://www.sqlite.org/fileformat.html)."""
_PROFILE_KEYS: Final = frozenset({"profiles", "plugins", "pluginConfig", "extenders"})
_OTHER_PROFILE_KEYS: Final = frozenset(
    {"schedulerName", "stretto", "parallelism", "percentageOfNodesToScore", "leaderElection"}
)
_FLEET_KEY: Final = "federation"
_SCENARIO_KEYS: Final = frozenset({"fleet", "workloads"})
_KEY: Final = re.compile(r"^['\"]?([A-Za-z][\w.-]*)['\"]?\s*:(?:\s|$)(.*)$", re.MULTILINE)
_FLOW_KEY: Final = re.compile(r"[{,]\s*['\"]?(\w+)['\"]?\s*:")


def kind_of_file(path: Path) -> FileKind | None:
    """The kind of a file or folder; ``None`` if its content matches no kind.

    A folder is a trace if one of its files is recognized as one, or else contains manifests. Only
    the start of a file is read, so a recognized file can still be invalid.

    Raises:
        InputError: the file cannot be read.
    """
    if path.is_dir():
        return FileKind.TRACE if recognise(path).format else FileKind.MANIFESTS
    start = read_start(path)
    if start.startswith(_SQLITE):
        return _database(start)
    try:
        text = start.decode(encoding_of(start), "strict" if len(start) < START else "ignore")
    except UnicodeDecodeError:
        return None
    return _of_text(text) or _of_table(path, text)


def _database(start: bytes) -> FileKind | None:
    number = int.from_bytes(start[_APPLICATION_AT : _APPLICATION_AT + 4], "big")
    return {STORE_APPLICATION: FileKind.STORE, RUN_APPLICATION: FileKind.RUN}.get(number)


def _of_table(path: Path, text: str) -> FileKind | None:
    """A trace, a table of an unknown format, or neither."""
    if recognise(path).format:
        return FileKind.TRACE
    return FileKind.TABLE if _header(next(iter(text.splitlines()), "")) else None


def _of_text(text: str) -> FileKind | None:
    first = next((line for line in text.splitlines() if line.strip()), "")
    if first.startswith("{") and '"recording"' in first[:200]:
        return FileKind.RECORDING
    keys = _keys(text)
    if "apiVersion" in keys or "kind" in keys:
        return FileKind.PROFILE if keys.get("kind") == PROFILE_KIND else FileKind.MANIFESTS
    if _FLEET_KEY in keys:
        return FileKind.FLEET
    if keys.keys() & _SCENARIO_KEYS:
        return FileKind.SCENARIO
    return FileKind.PROFILE if _is_profile(keys.keys()) else None


def _is_profile(keys: Collection[str]) -> bool:
    """True if most keys are those of a profile: other tools have lists named ``plugins`` too."""
    own = _PROFILE_KEYS.intersection(keys)
    return bool(own) and 2 * len(own | _OTHER_PROFILE_KEYS.intersection(keys)) > len(keys)


def _header(header: str) -> bool:
    """True if a line is a header of comma-separated names."""
    names = [each.strip().strip('"') for each in header.split(",")]
    return len(names) > 1 and all(re.fullmatch(r"[\w .()/%-]+", name) for name in names)


def _keys(text: str) -> dict[str, str]:
    """The top-level keys of the first document, with the text after each key."""
    stripped = text.lstrip()
    if stripped.startswith(("{", "[")):
        return _flow_keys(stripped)
    documents = re.split(r"^---.*$", text, flags=re.MULTILINE)
    first = next((each for each in documents if _KEY.search(each)), "")
    return {key: value.strip().strip("'\"") for key, value in _KEY.findall(first)}


def _flow_keys(text: str) -> dict[str, str]:
    """The keys of a document in braces, or of the first element of a document in brackets."""
    try:
        value = msgspec.json.decode(text)
    except msgspec.DecodeError:
        kind = re.search(r"['\"]?kind['\"]?\s*:\s*['\"]?(\w+)", text)
        return dict.fromkeys(_FLOW_KEY.findall(text), "") | ({"kind": kind[1]} if kind else {})
    value = value[0] if isinstance(value, list) and value else value
    return {str(k): str(v) for k, v in value.items()} if isinstance(value, dict) else {}


def expect_kind(path: Path, *wanted: FileKind) -> None:
    """Refuse a file that is recognized as another kind; an unrecognized file is accepted.

    Raises:
        InputError: the file is of another kind; the hint is the command that reads it.
    """
    if str(path) == "-" or not path.exists():
        return
    found = kind_of_file(path)
    if found is not None and found not in wanted:
        article = "manifests" if found is FileKind.MANIFESTS else f"a {found.value}"
        expected = " or ".join(
            each.value if each is FileKind.MANIFESTS else f"a {each.value}" for each in wanted
        )
        raise InputError(str(path), article, expected, _hint(found, path))


def _hint(found: FileKind, path: Path) -> str:
    """The command that reads a file; for an unknown table also the formats and the nearest one."""
    command = f"try: {USES[found].format(path=path)}"
    if found is not FileKind.TABLE:
        return command
    known, nearest = ", ".join(TRACES.names()), recognise(path).sentence()
    return f"{command} (docs/traces.md, csv); known formats: {known}; {nearest}"
