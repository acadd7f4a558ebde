"""The figures of a result of any schema: its numbers, named by their places."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

MOST_FIGURES: Final = 200
"""Figures of one result: more rows are no comparison."""
_LABELS: Final = ("name", "policy", "model", "resource", "queue", "setting", "seed", "side")
"""Members that name an item of a list, the most telling first."""
_MOST_ITEMS: Final = 30
"""Items of a list whose numbers are figures; longer lists are curves and tables."""


def figures_of(result: Mapping[str, Any]) -> list[tuple[str, float]]:
    """The figures of a result, such as ``policies · fgd · placed``, in its order."""
    found: list[tuple[str, float]] = []
    for figure in _numbers(result, ()):
        if len(found) == MOST_FIGURES:
            break
        found.append(figure)
    return found


def _numbers(value: Any, path: tuple[str, ...]) -> Iterator[tuple[str, float]]:
    if isinstance(value, bool):
        return
    if isinstance(value, int | float):
        yield " · ".join(path), float(value)
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _numbers(inner, (*path, str(name).replace("_", " ")))
    elif isinstance(value, list) and len(value) <= _MOST_ITEMS:
        yield from _items(value, path)


def _items(items: Sequence[Any], path: tuple[str, ...]) -> Iterator[tuple[str, float]]:
    """Numbers of the items that are mappings; lists of numbers are curves."""
    for place, each in enumerate(items):
        if isinstance(each, Mapping):
            label = next((str(each[name]) for name in _LABELS if name in each), str(place + 1))
            yield from _numbers(each, (*path, label))
