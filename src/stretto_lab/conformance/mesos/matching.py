"""Recorded values with placeholders, compared with values of a replay.

``${NAME}`` matches any value of a run. Placeholders with an identity are bound to their first value
and must keep it. Ids of offers are bound, too.
"""

import re
from collections.abc import Iterator
from typing import Any, Final, TypeAlias

_PLACEHOLDER: Final = re.compile(r"\$\{([A-Za-z0-9_:]+)\}")
_OFFER: Final = re.compile(r"\$\{MASTER_ID\}-O(\d+)")
_FREE: Final = frozenset({"TIME", "NUM", "LEN", "PATH", "BUILD", "VARIES", "UUID", "IP_INT"})
UNORDERED: Final = "${UNORDERED}"
"""Key of a list whose items may be in any order."""
MISSING: Final = "(missing)"
"""Text for a value that one side does not have."""


class MesosBindings:
    """Values of placeholders."""

    def __init__(self, values: dict[str, str]) -> None:
        """Start with known values, such as the id of the master."""
        self._values = dict(values)
        self._offers: dict[str, str] = {}

    def bind(self, name: str, value: str) -> None:
        """Fix the value of a placeholder."""
        self._values[name] = value

    def value(self, name: str) -> str | None:
        """The value of a placeholder, or None."""
        return self._values.get(name)

    def fill(self, text: str) -> str:
        """A recorded text with the values of this run."""
        text = _OFFER.sub(lambda found: self._offer(found.group(1)), text)
        return _PLACEHOLDER.sub(
            lambda found: self._values.get(found.group(1), found.group(0)), text
        )

    def accepts(self, want: str, got: object) -> bool:
        """True if a recorded text matches a value; new placeholders are bound."""
        offer = _OFFER.fullmatch(want)
        if offer is not None and isinstance(got, str):
            return self._bind_offer(offer.group(1), got)
        names = _PLACEHOLDER.findall(want)
        if not names:
            return want == got
        text = got if isinstance(got, str) else f"{got}"
        parts = _PLACEHOLDER.split(want)
        pattern = "".join(
            re.escape(part) if index % 2 == 0 else self._pattern(part)
            for index, part in enumerate(parts)
        )
        found = re.fullmatch(pattern, text, re.DOTALL)
        if found is None:
            return False
        for name, value in zip(names, found.groups(), strict=True):
            if name.partition(":")[0] not in _FREE:
                self._values.setdefault(name, value)
        return True

    def _pattern(self, name: str) -> str:
        known = self._values.get(name)
        return f"({re.escape(known)})" if known is not None else "(.*)"

    def _offer(self, number: str) -> str:
        return self._offers.get(number, f"{self._values['MASTER_ID']}-O{number}")

    def _bind_offer(self, number: str, got: str) -> bool:
        if number in self._offers:
            return self._offers[number] == got
        if got in self._offers.values() or not re.fullmatch(r".*-O\d+", got):
            return False
        self._offers[number] = got
        return True


Difference: TypeAlias = tuple[str, Any, Any]
"""A path, the recorded value and the value of the replay."""


def differences(want: Any, got: Any, bound: MesosBindings, path: str = "") -> Iterator[Difference]:
    """Paths with the values in which a replay differs from the recording."""
    if isinstance(want, dict) and UNORDERED in want:
        if not isinstance(got, list) or not _same_items(want[UNORDERED], got, bound):
            yield path, want[UNORDERED], got
    elif isinstance(want, dict) and isinstance(got, dict):
        for key in sorted(want.keys() | got.keys()):
            where = f"{path}.{key}" if path else key
            if key not in got or key not in want:
                yield where, want.get(key, MISSING), got.get(key, MISSING)
            else:
                yield from differences(want[key], got[key], bound, where)
    elif isinstance(want, list) and isinstance(got, list):
        if len(want) != len(got):
            yield path, want, got
            return
        for index, (left, right) in enumerate(zip(want, got, strict=True)):
            yield from differences(left, right, bound, f"{path}[{index}]")
    elif isinstance(want, str):
        if not bound.accepts(want, got):
            yield path, bound.fill(want), got
    elif want != got or isinstance(want, bool) != isinstance(got, bool):
        yield path, want, got


def _same_items(want: list[Any], got: list[Any], bound: MesosBindings) -> bool:
    left = list(got)
    for item in want:
        found = next(
            (each for each in left if not any(True for _ in differences(item, each, bound))), None
        )
        if found is None:
            return False
        left.remove(found)
    return not left
