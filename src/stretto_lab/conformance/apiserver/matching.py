"""Comparison of recorded values with those of a replay, by placeholders.

A recorded text may contain placeholders such as ``${UID1}``. The first match binds a placeholder to
the value of the replay; later values must be equal. Identities and versions are bound one to one.
"""

import re
from collections.abc import Iterator
from typing import Any, Final

_PLACE: Final = re.compile(r"\$\{([A-Z_]+?)(\d*)(?::([^}]*))?\}")
_PATTERNS: Final = {
    "UID": r"[0-9a-f-]{36}",
    "RV": r"\d+",
    "LRV": r"\d+",
    "GEN": r"[0-9a-z]+",
    "TIME": (
        r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z"
        r"|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+ [+-]\d{4}"
        r"|[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d [+-]\d{4}"
    ),
    "MICROTIME": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z",
    "AGE": r"<?[0-9a-z]+>?",
    "NUM": r"\d+",
    "HASH": r"[0-9A-Za-z]+",
    "IP": r"[0-9a-f.:]+",
    "NODE": r"[a-z0-9.-]+",
    "JWT": r"[\w-]+\.[\w-]+\.[\w-]+",
    "TEXT": r"(?s:.*)",
    "VARIES": r"(?s:.*)",
}
_LOOSE: Final = frozenset({"TIME", "MICROTIME", "AGE", "NUM", "HASH", "TEXT", "VARIES", "RAND"})
"""Placeholders that are never bound."""
_UNIQUE: Final = frozenset({"UID", "RV"})
"""Placeholders that never have the same value twice."""
_UNORDERED: Final = "${UNORDERED}"
_ENDS: Final = "${ENDS_WITH}"
_ABSENT: Final = "(absent)"
_VARIES: Final = "${VARIES}"
"""A value that differed between two recordings, or that only one of them contains."""
_MANAGED: Final = "managedFields"

Difference = tuple[str, Any, Any]
"""Path, recorded value and value of the replay."""


class Bindings:
    """Values of placeholders in one session."""

    def __init__(self, tokens: dict[str, str], now: str) -> None:
        """Start with the tokens of users and the time that requests contain."""
        self._tokens = tokens
        self._now = now
        self._values: dict[str, str] = {}
        self._owners: dict[tuple[str, str], str] = {}

    def filled(self, value: Any) -> Any:
        """A recorded value in which bound placeholders are replaced."""
        if isinstance(value, dict):
            return {self.filled(key): self.filled(each) for key, each in value.items()}
        if isinstance(value, list):
            return [self.filled(each) for each in value]
        return _PLACE.sub(self._fill, value) if isinstance(value, str) else value

    def _fill(self, match: re.Match[str]) -> str:
        word, number, rest = match.groups()
        if word == "TOKEN":
            return self._tokens.get(rest or "", "unknown")
        if word == "TIME":
            return self._now
        return self._values.get(word + number, match[0])

    def accepts(self, want: str, got: str) -> bool:
        """True if a text matches; binds its placeholders."""
        pattern, names = "", []
        end = 0
        for place in _PLACE.finditer(want):
            word, number, _ = place.groups()
            pattern += re.escape(want[end : place.start()])
            end = place.end()
            known = self._values.get(word + number)
            if known is not None and number and word not in _LOOSE:
                pattern += re.escape(known)
            else:
                names.append((word, number))
                pattern += f"({_PATTERNS.get(word, '.*')})"
        match = re.fullmatch(pattern + re.escape(want[end:]), got)
        if match is None:
            return False
        return all(
            self._bind(word, number, value)
            for (word, number), value in zip(names, match.groups(), strict=True)
        )

    def _bind(self, word: str, number: str, value: str) -> bool:
        if word in _LOOSE:
            return True
        if not number:
            self._values[word] = value
            return True
        name = word + number
        if word in _UNIQUE and self._owners.setdefault((word, value), name) != name:
            return False
        return self._values.setdefault(name, value) == value


def differences(want: Any, got: Any, bindings: Bindings, path: str = "") -> Iterator[Difference]:
    """Differences between a value and the recorded value."""
    if isinstance(want, str):
        if want == "${VARIES}":
            return
        text = got if isinstance(got, str) else None
        if text is None and want.startswith("${") and not isinstance(got, dict | list):
            text = str(got)
        if text is None or not (text == want or bindings.accepts(want, text)):
            yield path, bindings.filled(want), got
    elif isinstance(want, dict):
        yield from _in_object(want, got, bindings, path)
    elif isinstance(want, list):
        yield from _in_list(want, got, bindings, path)
    elif want != got or isinstance(want, bool) is not isinstance(got, bool):
        yield path, want, got


def _in_object(
    want: dict[str, Any], got: Any, bindings: Bindings, path: str
) -> Iterator[Difference]:
    if _UNORDERED in want:
        yield from _unordered(want[_UNORDERED], got, bindings, path)
        return
    if _ENDS in want:
        tail = want[_ENDS]
        last = got[len(got) - len(tail) :] if isinstance(got, list) else got
        yield from differences(tail, last, bindings, path)
        return
    if not isinstance(got, dict):
        yield path, want, got
        return
    left = dict(got)
    for key, value in want.items():
        name = bindings.filled(key)
        where = f"{path}.{name}" if path else str(name)
        if value == _VARIES and name not in left:
            continue
        if name == _MANAGED:
            value, left = _by_owner(value), {**left, name: _by_owner(left.get(name))}
        if name in left:
            yield from differences(value, left.pop(name), bindings, where)
            continue
        other = next((each for each in left if "${" in key and bindings.accepts(key, each)), None)
        if other is None:
            yield where, bindings.filled(value), _ABSENT
        else:
            yield from differences(value, left.pop(other), bindings, where)
    for key, value in left.items():
        yield f"{path}.{key}" if path else key, _ABSENT, value


def _by_owner(entries: Any) -> Any:
    """Managed fields by owner, because their order depends on the second of each write."""
    if not isinstance(entries, list):
        return entries
    words = ("operation", "manager", "apiVersion", "subresource")
    return sorted(entries, key=lambda each: [str(each.get(word, "")) for word in words])


def _in_list(want: list[Any], got: Any, bindings: Bindings, path: str) -> Iterator[Difference]:
    if not isinstance(got, list):
        yield path, bindings.filled(want), got
        return
    for index, value in enumerate(want):
        where = f"{path}[{index}]"
        if index < len(got):
            yield from differences(value, got[index], bindings, where)
        else:
            yield where, bindings.filled(value), _ABSENT
    for index in range(len(want), len(got)):
        yield f"{path}[{index}]", _ABSENT, got[index]


def _unordered(want: list[Any], got: Any, bindings: Bindings, path: str) -> Iterator[Difference]:
    """Differences of lists whose items may be in any order."""
    if not isinstance(got, list):
        yield path, want, got
        return
    left = list(got)
    for index, value in enumerate(want):
        found = next((each for each in left if not any(differences(value, each, bindings))), None)
        if found is None:
            yield f"{path}[{index}]", bindings.filled(value), _ABSENT
        else:
            left.remove(found)
    for each in left:
        yield path, _ABSENT, each
