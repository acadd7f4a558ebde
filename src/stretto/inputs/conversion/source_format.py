"""Recognition of a source's format by its content: a trace, a scenario or a cluster dump."""

import re
from pathlib import Path
from typing import Final

from stretto.base.errors import InputError
from stretto.inputs.neutral.streams import read_start
from stretto.inputs.traces.recognition import recognise, recognised

STDIN: Final = "-"
"""The source that stands for Kubernetes objects on standard input."""
DUMP: Final = "kubernetes"
"""Name of the format of a dump of a cluster."""
SCENARIO: Final = "scenario"
"""Name of the format of a scenario."""
_SCENARIO_KEY: Final = re.compile(r"^(?:fleet|workloads)\s*:", re.MULTILINE)
_OBJECT_KEY: Final = re.compile(r"(?:^|[{\s,])[\"']?(?:apiVersion|kind)[\"']?\s*:", re.MULTILINE)
_OTHER: Final = (
    ('"recording"', "a recording", "stretto simulate {path}"),
    ("SQLite format 3", "a store or a run record", "stretto record --on {path} --out FILE"),
)
"""Starts of files that need no conversion, and the command for them."""


def format_of(source: Path) -> str:
    """The format of a source.

    Raises:
        InputError: the source needs no conversion, or its format is unknown; the message lists the
            formats.
    """
    if str(source) == STDIN:
        return DUMP
    found = recognise(source)
    if found.format:
        return found.format
    if source.is_dir():
        return DUMP
    start = read_start(source).decode("utf-8", "replace")
    for mark, what, command in _OTHER:
        if mark in start[:200]:
            hint = f"try: {command.format(path=source)}"
            raise InputError(str(source), what, "a trace, a dump or a scenario", hint)
    if _OBJECT_KEY.search(start):
        return DUMP
    if _SCENARIO_KEY.search(start):
        return SCENARIO
    return recognised(source).format
