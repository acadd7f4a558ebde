"""Placeholders of the recordings: times that depend on the run.

``<time>`` stands for any time; ``<time:+30s>`` for a time relative to the start of the scenario.
"""

import re
from typing import Any, Final

import msgspec

from stretto.base.clock import timestamp

ANY_TIME: Final = "<time>"
_REVISIONS: Final = ("currentRevision", "updateRevision")
_RELATIVE: Final = re.compile(r"<time:([+-]\d+)s>")


def filled(value: Any, start: float) -> Any:
    """A value with its relative times filled in, for a scenario that starts at ``start``."""
    text = msgspec.json.encode(value).decode()
    if "<time:" not in text:
        return value
    made = _RELATIVE.sub(lambda match: timestamp(start + int(match.group(1))), text)
    return msgspec.json.decode(made.encode())


def equal(want: Any, got: Any) -> bool:
    """Whether a value is the recorded one; ``<time>`` equals any text."""
    if want == ANY_TIME:
        return isinstance(got, str)
    if isinstance(want, dict) and isinstance(got, dict):
        return want.keys() == got.keys() and all(equal(want[key], got[key]) for key in want)
    if isinstance(want, list) and isinstance(got, list):
        return len(want) == len(got) and all(map(equal, want, got))
    return bool(want == got)


def without_hashes(value: Any) -> Any:
    """A status without the hashes in the names of its revisions, which differ from Go's."""
    if not isinstance(value, dict):
        return value
    return {
        key: str(each).rpartition("-")[0] if key in _REVISIONS else each
        for key, each in value.items()
    }
