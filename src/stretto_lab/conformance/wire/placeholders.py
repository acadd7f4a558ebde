"""Placeholders of the recordings: times, credentials and addresses that depend on the run.

``<time>`` matches any time; ``<time:+30s>`` a time relative to the start of the scenario.
"""

import base64
import re
from collections.abc import Callable
from typing import Any, Final

import msgspec

from stretto.base.clock import timestamp

ANY_TIME: Final = "<time>"
_REVISIONS: Final = ("currentRevision", "updateRevision")
_RELATIVE: Final = re.compile(r"<time:([+-]\d+)s>")
_SECRET: Final = re.compile(r"<secret:([^>]+)>")
_ENDPOINT: Final = re.compile(r"<endpoint:([^>]+)>")

_RANDOM: Final = re.compile(r"<rand:\d+>")


def secret_value(key: str) -> str:
    """Bytes for a key of a secret, in base64."""
    return base64.b64encode(key.encode()).decode()


def filled(
    value: Any,
    start: float,
    secret: Callable[[str], str] = secret_value,
    address: Callable[[str], str] = str,
) -> Any:
    """A value with its placeholders filled in.

    Args:
        value: the value.
        start: wall time at which the scenario starts; relative times become times.
        secret: the value of a key of credentials, in base64; by default some bytes.
        address: the address of a server; by default its name.
    """
    text = msgspec.json.encode(value).decode()
    if "<" not in text:
        return value
    text = _RELATIVE.sub(lambda match: timestamp(start + int(match.group(1))), text)
    text = _SECRET.sub(lambda match: secret(match.group(1)), text)
    text = _ENDPOINT.sub(lambda match: address(match.group(1)), text)
    return msgspec.json.decode(text.encode())


def equal(want: Any, got: Any) -> bool:
    """True if a value equals the recorded one; ``<time>`` equals any text."""
    if want == ANY_TIME:
        return isinstance(got, str)
    if isinstance(want, dict) and isinstance(got, dict):
        return want.keys() == got.keys() and all(equal(want[key], got[key]) for key in want)
    if isinstance(want, list) and isinstance(got, list):
        return len(want) == len(got) and all(map(equal, want, got))
    return bool(want == got)


def without_hashes(value: Any) -> Any:
    """A status without the hashes in the names of its revisions, which differ from those of Go."""
    if not isinstance(value, dict):
        return value
    return {
        key: str(each).rpartition("-")[0] if key in _REVISIONS else each
        for key, each in value.items()
    }


def with_names(want: dict[str, Any], got: dict[str, Any]) -> dict[str, Any]:
    """The parts of a replay with the recorded names, in which ``<rand:N>`` is any suffix."""
    named = {part: _renamed(want[part], value) for part, value in got.items()}
    members = {
        name: _renamed(want["members"].get(name) or {}, value)
        for name, value in (got.get("members") or {}).items()
    }
    return {**named, "members": members}


def _renamed(want: dict[str, Any], got: dict[str, Any]) -> dict[str, Any]:
    """Values under those keys of ``want`` that match their keys."""
    patterns = {key: _pattern(key) for key in want if _RANDOM.search(key)}
    made: dict[str, Any] = {}
    for key, value in got.items():
        free = (x for x, pattern in patterns.items() if x not in made and pattern.fullmatch(key))
        made[next(free, key)] = value
    return made


def _pattern(key: str) -> re.Pattern[str]:
    return re.compile("[a-z0-9]+".join(map(re.escape, _RANDOM.split(key))))
