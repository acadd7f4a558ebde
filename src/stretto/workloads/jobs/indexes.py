"""Completion indexes of Jobs, and sets of them as text: ``0,2-4``."""

from collections.abc import Iterable
from typing import Final

from stretto.reconcile.cache import StoredObject

INDEX: Final = "batch.kubernetes.io/job-completion-index"
"""Annotation and label of a pod that contain its index."""


def index_of(pod: StoredObject) -> int | None:
    """The completion index of a pod; ``None`` without one."""
    text = pod.annotations.get(INDEX, "")
    return int(text) if text.isdecimal() else None


def indexes_of(pods: Iterable[StoredObject]) -> set[int]:
    """The completion indexes of some pods."""
    return {index for index in map(index_of, pods) if index is not None}


def as_text(indexes: Iterable[int]) -> str:
    """Format a set as intervals; two neighbours are listed, more are a range."""
    found: list[list[int]] = []
    for index in sorted(indexes):
        if found and found[-1][1] == index - 1:
            found[-1][1] = index
        else:
            found.append([index, index])
    return ",".join(_interval(first, last) for first, last in found)


def _interval(first: int, last: int) -> str:
    if first == last:
        return str(first)
    return f"{first},{last}" if last == first + 1 else f"{first}-{last}"


def from_text(text: str, completions: int) -> set[int]:
    """Parse a valid text; return the indexes below a number of completions."""
    found: set[int] = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        found |= set(range(int(first), min(int(last or first), completions - 1) + 1))
    return found
