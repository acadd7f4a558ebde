"""YAML as Kubernetes reads it, from strangers.

PyYAML's C loader ends the process on deep nesting, aliases make kilobytes into gigabytes, and
doubled keys hide mistakes. So only libyaml's event stream is used, which does not recurse, and the
values are built here: depth and number are counted before anything is made, aliases and doubled
keys are refused. Plain words mean what they mean to kubectl: ``yes`` is true, ``0777`` octal, and
a date a text.
"""

import math
import re
from collections.abc import Callable, Iterator
from typing import Any, Final, NoReturn

import yaml

from stretto.api.wire.limits import MAX_DEPTH
from stretto.base.errors import InputError

try:
    from yaml import CSafeDumper as _SafeDumper
    from yaml import CSafeLoader as _SafeLoader
except ImportError:  # libyaml is missing: the same, ten times slower
    from yaml import SafeDumper as _SafeDumper  # type: ignore[assignment]
    from yaml import SafeLoader as _SafeLoader  # type: ignore[assignment]

MAX_FILE_BYTES: Final = 64 << 20
"""Bytes of one text with many documents: 20,000 nodes with all their fields are half of it."""

MAX_VALUES: Final = 1_000_000
"""Values of one document, a list of objects included; an object of 3 MiB cannot have as many."""

_TAG: Final = "tag:yaml.org,2002:"
_WORDS: Final[dict[str, Any]] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(
        ("true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON", "y", "Y"), True
    ),
    **dict.fromkeys(
        ("false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF", "n", "N"), False
    ),
}
_WHOLE: Final = re.compile(r"[-+]?(?:0|[1-9][0-9_]*|0[xX][0-9a-fA-F_]+|0[bB][01_]+|0[oO]?[0-7_]+)")
_REAL: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_NO_NUMBER: Final = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_INTEGERS: Final = range(-(2**63), 2**64)
"""What JSON readers keep exactly; longer ones become reals, as in Go."""

_LONGEST_WHOLE: Final = 64
"""Characters of the longest whole number that is read digit by digit."""


def load_documents(text: str | bytes, where: str) -> Iterator[tuple[str, Any]]:
    """Each document of a text as JSON values, with where it begins; empty ones are left out."""
    content = _decoded(text, where)
    try:
        yield from _Documents(content, where)
    except (yaml.YAMLError, UnicodeError) as error:
        mark = getattr(error, "problem_mark", None)
        place = f"{where}, line {mark.line + 1}" if mark else where
        problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "bad text"
        raise InputError(place, problem, "YAML", "check indentation, quotes and colons") from error


def _decoded(text: str | bytes, where: str) -> str:
    """A text of bearable length, in UTF-8."""
    if len(text) > MAX_FILE_BYTES:
        hint = "split it into several files"
        raise InputError(where, f"{len(text)} bytes", f"at most {MAX_FILE_BYTES} bytes", hint)
    if isinstance(text, str):
        return text
    try:
        return text.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            where, bytes(text[:20]), "text in UTF-8", "is it a binary file?"
        ) from error


class _Documents:
    """Builds documents from events, with a stack of its own instead of recursion."""

    def __init__(self, text: str, where: str) -> None:
        self._events = iter(yaml.parse(text, Loader=_SafeLoader))
        self._where = where
        #: The open maps and lists, the outermost first.
        self._open: list[Any] = []
        #: The key whose value comes next, for each open map; lists hold None.
        self._keys: list[str | None] = []
        self._values = 0
        self._root: Any = None

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        for event in self._events:
            if isinstance(event, yaml.DocumentStartEvent):
                self._values, self._root, start = 0, None, self._place(event)
            elif isinstance(event, yaml.DocumentEndEvent):
                if self._root is not None:
                    yield start, self._root
            elif isinstance(event, yaml.NodeEvent):
                self._node(event)
            elif isinstance(event, yaml.CollectionEndEvent):
                self._open.pop()
                self._keys.pop()

    def _node(self, event: yaml.NodeEvent) -> None:
        """A value, or the beginning of one."""
        self._values += 1
        if self._values > MAX_VALUES:
            self._refuse(event, f"{self._values} values", f"at most {MAX_VALUES} in one document")
        if isinstance(event, yaml.ScalarEvent):
            self._scalar(event)
            return
        if isinstance(event, yaml.AliasEvent):
            self._refuse(event, f"*{event.anchor}", "no aliases", "write the value out")
        if len(self._open) >= MAX_DEPTH:
            self._refuse(event, "a deeper value", f"at most {MAX_DEPTH} levels of nesting")
        made: Any = {} if isinstance(event, yaml.MappingStartEvent) else []
        self._add(made, event)
        self._open.append(made)
        self._keys.append(None)

    def _scalar(self, event: yaml.ScalarEvent) -> None:
        """A word: a key where a map waits for one, else a value."""
        waiting = bool(self._open) and isinstance(self._open[-1], dict) and self._keys[-1] is None
        value = self._resolved(event)
        if not waiting:
            self._add(value, event)
            return
        if value is None or (event.value == "<<" and event.implicit[0]):
            self._refuse(event, event.value, "a key", "quote it, or write merged keys out")
        key = value if isinstance(value, str) else _spelled(value)
        if key in self._open[-1]:
            self._refuse(event, key, "each key once in a map", "remove one of the two")
        self._open[-1][key] = None
        self._keys[-1] = key

    def _add(self, value: Any, event: yaml.NodeEvent) -> None:
        """Put a value into the innermost open map or list."""
        if not self._open:
            self._root = value
        elif isinstance(self._open[-1], list):
            self._open[-1].append(value)
        elif (key := self._keys[-1]) is None:
            self._refuse(event, "a map or list as key", "a text as key")
        else:
            self._open[-1][key] = value
            self._keys[-1] = None

    def _resolved(self, event: yaml.ScalarEvent) -> Any:
        """What a word means: by its tag, by its quotes, or by its looks."""
        text: str = event.value
        if event.tag is not None and event.tag != "!":
            read = _BY_TAG.get(event.tag.removeprefix(_TAG))
            if read is None:
                self._refuse(event, event.tag, "plain YAML without tags", "remove the tag")
            try:
                return read(text)
            except (ValueError, KeyError):
                self._refuse(event, text, f"a value that fits its tag {event.tag}")
        if not event.implicit[0] or event.tag == "!":
            return text
        value = plain(text)
        if _NO_NUMBER.fullmatch(text) or (isinstance(value, float) and math.isinf(value)):
            self._refuse(event, text, "a finite number", "quote it if a text is meant")
        return value

    def _place(self, event: yaml.Event) -> str:
        mark = event.start_mark
        return f"{self._where}, line {mark.line + 1}" if mark else self._where

    def _refuse(self, event: yaml.Event, found: str, expected: str, hint: str = "") -> NoReturn:
        raise InputError(self._place(event), found, expected, hint)


def plain(text: str) -> Any:
    """What an unquoted word means to kubectl."""
    if text in _WORDS:
        return _WORDS[text]
    if len(text) <= _LONGEST_WHOLE and _WHOLE.fullmatch(text):
        number = _whole(text)
        return number if number in _INTEGERS else float(number)
    return float(text) if _REAL.fullmatch(text) else text


def _whole(text: str) -> int:
    """A whole number in any of YAML's bases."""
    digits = text.replace("_", "")
    unsigned = digits.lstrip("+-")
    octal = len(unsigned) > 1 and unsigned[0] == "0" and unsigned[1].isdigit()
    return int(digits, 8 if octal else 0)


def _spelled(value: Any) -> str:
    """A key that is a number or a switch, as JSON spells it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


_BY_TAG: Final[dict[str, Callable[[str], Any]]] = {
    "str": str,
    "int": _whole,
    "float": float,
    "bool": _WORDS.__getitem__,
    "null": lambda _: None,
}
"""The tags that JSON has a value for."""


# ---------------------------------------------------------------- writing


class _Dumper(_SafeDumper):
    """Writes what ``load_documents`` and kubectl read back the same."""

    def ignore_aliases(self, data: Any) -> bool:
        """Never write an alias: we would not read it."""
        return True

    def text(self, data: str) -> yaml.ScalarNode:
        """Texts of several lines as a block, the others as short as is safe."""
        style = "|" if "\n" in data else None
        safe = style or (isinstance(plain(data), str) and not _NO_NUMBER.fullmatch(data))
        return self.represent_scalar(f"{_TAG}str", data, style=style if safe else "'")


_Dumper.add_representer(str, _Dumper.text)


def dump_document(value: Any) -> str:
    """JSON values as YAML for humans; the order of keys is kept."""
    return yaml.dump(
        value,
        Dumper=_Dumper,
        default_flow_style=False,
        sort_keys=False,
        allow_unicode=True,
        width=100,
    )
