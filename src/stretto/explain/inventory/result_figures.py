"""The figures of a result of any schema: its numbers, named by their paths."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

MOST_FIGURES: Final = 200
"""Maximum number of figures of one result: more rows are not a useful comparison."""
_LABELS: Final = ("name", "policy", "model", "resource", "queue", "setting", "seed", "side")
"""Members that identify an item of a list, the most specific first."""
_MOST_ITEMS: Final = 30
"""Maximum length of a list whose numbers become figures; longer lists are curves or tables."""


def figures_of(result: Mapping[str, Any]) -> list[tuple[str, float]]:
    """Figures of a result in their order, such as ``policies · fgd · placed``."""
    found: list[tuple[str, float]] = []
    for figure in _numbers(result, ()):
        if len(found) == MOST_FIGURES:
            break
        found.append(figure)
    return found


def sides_of(result: Mapping[str, Any], most: int) -> dict[str, Mapping[str, Any]]:
    """Return the results that a result compares, such as policies, by name; empty for none.

    They are the items of its only list of 2 to ``most`` mappings with different names. Members
    outside the list belong to each of them.
    """
    lists = [(name, value) for name, value in result.items() if isinstance(value, list)]
    sets = [(name, found) for name, value in lists if (found := _sides(value, most))]
    if len(sets) != 1:
        return {}
    name, sides = sets[0]
    shared = {key: value for key, value in result.items() if key != name}
    return {label: {**side, **shared} for label, side in sides.items()}


def _sides(items: Sequence[Any], most: int) -> dict[str, Mapping[str, Any]]:
    """Return the items of a list by name; empty if they do not have different names."""
    if not 2 <= len(items) <= most or not all(isinstance(each, Mapping) for each in items):
        return {}
    labels = [next((str(each[name]) for name in _LABELS if name in each), "") for each in items]
    return dict(zip(labels, items, strict=True)) if len(set(labels) - {""}) == len(items) else {}


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
    """Numbers of the items that are mappings; lists of plain numbers are curves and are skipped."""
    for place, each in enumerate(items):
        if isinstance(each, Mapping):
            label = next((str(each[name]) for name in _LABELS if name in each), str(place + 1))
            yield from _numbers(each, (*path, label))
