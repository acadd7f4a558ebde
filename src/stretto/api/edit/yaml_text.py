"""YAML from untrusted sources, read as Kubernetes reads it.

The C loader of PyYAML crashes on deep nesting, aliases expand kilobytes to gigabytes, and duplicate
keys hide mistakes. Therefore this module uses only the event stream of libyaml, which does not
recurse, and builds the values itself. It limits depth and number of values, both counted after the
expansion of aliases and merge keys, and refuses duplicate keys. Plain scalars have the same meaning
as in kubectl: ``yes`` is true, ``0777`` is octal, and a date is a string.
"""

import math
import re
import sys
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple, NoReturn

import msgspec
import yaml

from stretto.api.wire.limits import MAX_DEPTH
from stretto.api.wire.values import copied
from stretto.base.errors import InputError

try:
    from yaml import CSafeDumper as _SafeDumper
    from yaml import CSafeLoader as _SafeLoader
except ImportError:  # the fallback without libyaml is ten times slower
    from yaml import SafeDumper as _SafeDumper  # type: ignore[assignment]
    from yaml import SafeLoader as _SafeLoader  # type: ignore[assignment]

MAX_FILE_BYTES: Final = 64 << 20
"""Maximum bytes of a text: 20,000 nodes with all fields need half of it."""

MAX_VALUES: Final = 1_000_000
"""Maximum values of a document besides those of its length; an object of 3 MiB has fewer."""
BYTES_A_VALUE: Final = 10
"""Bytes of a text that allow one more value. A dump of pods has one in 12 bytes; a text that
expands aliases has many more."""

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
"""Range of integers that JSON readers represent exactly; larger ones become floats, as in Go."""
_WHOLE_REALS: Final = 1e21
"""Bound below which Go writes a whole float as an integer: 30.0 becomes 30."""

_LONGEST_WHOLE: Final = 64
"""Maximum characters of an integer that is read digit by digit."""


class _Anchored(NamedTuple):
    """A finished value with an anchor."""

    #: The value.
    value: Any
    #: Number of values in it, itself included, with aliases expanded.
    size: int
    #: Levels of maps and lists in the value.
    height: int


class _Frame:
    """An open map or list."""

    __slots__ = ("anchor", "before", "height", "key", "made", "merged")

    def __init__(self, made: Any, anchor: str | None, before: int) -> None:
        #: The map or list.
        self.made = made
        #: Its anchor, if it has one.
        self.anchor = anchor
        #: Number of values of the document before it.
        self.before = before
        #: Levels of maps and lists in it, including itself.
        self.height = 1
        #: The key of the next value; None where a map expects a key, and in lists.
        self.key: str | None = None
        #: Maps under the merge key, in order.
        self.merged: list[Any] = []

    def deepen(self, height: int) -> None:
        """Record the levels of an inner value."""
        self.height = max(self.height, 1 + height)

    def begin(self, key: str) -> None:
        """Record the key of the next value."""
        self.key = key

    def put(self, value: Any) -> None:
        """Add a value: to the list, under the key, or as a map to merge."""
        if self.key is None:
            self.made.append(value)
        elif self.key == _MERGE:
            self.merged.append(value)
        else:
            self.made[self.key] = value
        self.key = None


_MERGE: Final = "\0<<"
"""Key of a frame whose next value is merged; no YAML key contains a null byte."""


def load_documents(
    text: str | bytes, where: str, most: int | None = None, repeated: list[str] | None = None
) -> Iterator[tuple[str, Any]]:
    """Yield each document of a text as JSON values, with its position; skip empty documents.

    Args:
        text: the text.
        where: its place in messages.
        most: maximum values per document; ``None``: ``MAX_VALUES``, and more by
            the length of the text.
        repeated: receives a sentence about each duplicate key, whose last value is used; if
            ``None``, a duplicate key is an error.
    """
    content = _decoded(text, where)
    try:
        limit = MAX_VALUES + len(content) // BYTES_A_VALUE if most is None else most
        yield from _Documents(content, where, limit, repeated)
    except (yaml.YAMLError, UnicodeError) as error:
        mark = getattr(error, "problem_mark", None)
        place = f"{where}, line {mark.line + 1}" if mark else where
        problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "bad text"
        hint = "check indentation, quotes and colons"
        line = "".join(content.splitlines()[mark.line : mark.line + 1]) if mark else content[:40]
        if "\t" in line[: len(line) - len(line.lstrip())]:
            raise InputError(place, line, "YAML", "indent with spaces, not with tabs") from error
        got = line if line.strip() else "the end of the text"
        raise InputError(place, got, f"YAML ({problem})", hint) from error


def _decoded(text: str | bytes, where: str) -> str:
    """Decode a text of limited length from UTF-8."""
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
    """Builder of documents from events, with an explicit stack instead of recursion."""

    def __init__(self, text: str, where: str, most: int, repeated: list[str] | None) -> None:
        self._most = most
        self._repeated = repeated
        self._events = iter(yaml.parse(text, Loader=_SafeLoader))
        self._where = where
        #: The open maps and lists, the outermost first.
        self._open: list[_Frame] = []
        #: The finished values with an anchor.
        self._anchors: dict[str, _Anchored] = {}
        self._values = self._documents = 0
        self._root: Any = None

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        for event in self._events:
            if isinstance(event, yaml.DocumentStartEvent):
                self._documents += 1
                if self._documents > self._most:
                    self._refuse(event, "more documents", f"at most {self._most} documents")
                self._values, self._root, start = 0, None, self._place(event)
                self._anchors = {}
            elif isinstance(event, yaml.DocumentEndEvent):
                if self._root is not None:
                    yield start, self._root
            elif isinstance(event, yaml.NodeEvent):
                self._node(event)
            elif isinstance(event, yaml.CollectionEndEvent):
                self._close(event)

    def _node(self, event: yaml.NodeEvent) -> None:
        """Handle a value, or the start of a map or list."""
        self._count(event, 1)
        if isinstance(event, yaml.ScalarEvent):
            self._scalar(event)
        elif isinstance(event, yaml.AliasEvent):
            self._alias(event)
        else:
            self._deepen(event, 1)
            made: Any = {} if isinstance(event, yaml.MappingStartEvent) else []
            self._add(made, event)
            self._open.append(_Frame(made, event.anchor, self._values - 1))

    def _count(self, event: yaml.Event, more: int) -> None:
        """Add to the number of values of the document."""
        self._values += more
        if self._values > self._most:
            self._refuse(event, f"{self._values} values", f"at most {self._most} in one document")

    def _deepen(self, event: yaml.Event, height: int) -> None:
        """Check that a value of some levels may begin here, and record its levels."""
        if len(self._open) + height > MAX_DEPTH:
            self._refuse(event, "a deeper value", f"at most {MAX_DEPTH} levels of nesting")
        if self._open:
            self._open[-1].deepen(height)

    def _alias(self, event: yaml.AliasEvent) -> None:
        """Add a copy of an anchor's value, so that later changes do not affect other copies."""
        found = self._anchors.get(event.anchor or "")
        if found is None:
            hint = "define &anchor above its first use; a value cannot contain itself"
            self._refuse(event, f"*{event.anchor}", "a finished anchor of the document", hint)
        self._count(event, found.size - 1)
        self._deepen(event, found.height)
        if self._expects_key():
            self._key(found.value, event)
        else:
            self._add(copied(found.value), event)

    def _close(self, event: yaml.CollectionEndEvent) -> None:
        """Handle the end of a map or list: merge, store its anchor, and record its levels."""
        frame = self._open.pop()
        for source in frame.merged:
            for each in source if isinstance(source, list) else [source]:
                if not isinstance(each, dict):
                    self._refuse(event, each, "a map, or a list of maps, under the key <<")
                for key, value in each.items():
                    frame.made.setdefault(key, value)
        if frame.anchor:
            size = self._values - frame.before
            self._anchors[frame.anchor] = _Anchored(frame.made, size, frame.height)
        if self._open:
            self._open[-1].deepen(frame.height)

    def _expects_key(self) -> bool:
        """Return whether the next value is a key of the innermost map."""
        frame = self._open[-1] if self._open else None
        return frame is not None and isinstance(frame.made, dict) and frame.key is None

    def _scalar(self, event: yaml.ScalarEvent) -> None:
        """Handle a scalar: a key where a map expects one, otherwise a value."""
        value = self._resolved(event)
        if event.anchor:
            self._anchors[event.anchor] = _Anchored(value, 1, 0)
        if not self._expects_key():
            self._add(value, event)
        elif event.value == "<<" and event.implicit[0]:
            self._open[-1].begin(_MERGE)
        else:
            self._key(value, event)

    def _key(self, value: Any, event: yaml.NodeEvent) -> None:
        """Handle a key of the innermost map."""
        if isinstance(value, dict | list):
            self._refuse(event, "a map or list as key", "a text as key")
        if value is None:
            self._refuse(event, getattr(event, "value", "null"), "a key", "quote it")
        frame, key = self._open[-1], value if isinstance(value, str) else _spelled(value)
        if key in frame.made:
            if self._repeated is None:
                self._refuse(event, key, "each key once in a map", "remove one of the two")
            shown = msgspec.json.encode(value).decode()
            line = event.start_mark.line + 1 if event.start_mark else 0
            self._repeated.append(f"line {line}: key {shown} already set in map")
        frame.made[key] = None
        frame.begin(key)

    def _add(self, value: Any, event: yaml.NodeEvent) -> None:
        """Add a value to the innermost open map or list."""
        if not self._open:
            self._root = value
            return
        if self._expects_key():
            self._refuse(event, "a map or list as key", "a text as key")
        self._open[-1].put(value)

    def _resolved(self, event: yaml.ScalarEvent) -> Any:
        """Resolve a scalar by its tag, its quotes or its form."""
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
            self._refuse(event, text, "a finite number", "quote it if it is a string")
        return value

    def _place(self, event: yaml.Event) -> str:
        mark = event.start_mark
        return f"{self._where}, line {mark.line + 1}" if mark else self._where

    def _refuse(self, event: yaml.Event, found: str, expected: str, hint: str = "") -> NoReturn:
        raise InputError(self._place(event), found, expected, hint)


def plain(text: str) -> Any:
    """Resolve an unquoted scalar as kubectl does."""
    if text in _WORDS:
        return _WORDS[text]
    if len(text) <= _LONGEST_WHOLE and _WHOLE.fullmatch(text):
        number = _whole(text)
        return number if number in _INTEGERS else float(number)
    if not _REAL.fullmatch(text):
        return text
    real = float(text)
    return int(real) if abs(real) < _WHOLE_REALS and real.is_integer() else real


def _whole(text: str) -> int:
    """Parse an integer in any base of YAML."""
    digits = text.replace("_", "")
    unsigned = digits.lstrip("+-")
    octal = len(unsigned) > 1 and unsigned[0] == "0" and unsigned[1].isdigit()
    return int(digits, 8 if octal else 0)


def _spelled(value: Any) -> str:
    """Format a numeric or boolean key as in JSON."""
    return str(value).lower() if isinstance(value, bool) else str(value)


_BY_TAG: Final[dict[str, Callable[[str], Any]]] = {
    "str": str,
    "int": _whole,
    "float": float,
    "bool": _WORDS.__getitem__,
    "null": lambda _: None,
}
"""Tags whose values JSON can represent."""


# ---------------------------------------------------------------- writing


class _Dumper(_SafeDumper):
    """Writes YAML that ``load_documents`` and kubectl read back unchanged."""

    def ignore_aliases(self, data: Any) -> bool:
        """Never write an alias, because users read the text."""
        return True

    def text(self, data: str) -> yaml.ScalarNode:
        """Write multi-line strings as a block, others as short as possible."""
        return self.represent_scalar(f"{_TAG}str", data, style=_style(data, "'"))


class _SortedDumper(_Dumper):
    """Writer of YAML with the quotes of Kubernetes."""

    def quoted_text(self, data: str) -> yaml.ScalarNode:
        """Write a string in double quotes if it looks like another value."""
        return self.represent_scalar(f"{_TAG}str", data, style=_style(data, '"'))


def _style(text: str, quotes: str) -> str | None:
    """Return the style: a block for several lines, quotes if the text looks like another value."""
    if "\n" in text:
        return "|"
    is_plain = isinstance(plain(text), str) and not _NO_NUMBER.fullmatch(text)
    return None if is_plain else quotes


_Dumper.add_representer(str, _Dumper.text)
_SortedDumper.add_representer(str, _SortedDumper.quoted_text)


def dump_document(value: Any) -> str:
    """Write JSON values as YAML for users; the order of keys is kept."""
    return yaml.dump(
        value,
        Dumper=_Dumper,
        default_flow_style=False,
        sort_keys=False,
        allow_unicode=True,
        width=100,
    )


def dump_sorted(value: Any) -> str:
    """Write JSON values as YAML like an API server: sorted keys, long lines kept."""
    return yaml.dump(
        value,
        Dumper=_SortedDumper,
        default_flow_style=False,
        sort_keys=True,
        allow_unicode=True,
        width=sys.maxsize >> 32,
    )
