"""Copies of objects that differ in a few attributes."""

from copy import copy
from typing import Any, TypeVar

T = TypeVar("T")


def copied_with(original: T, **attributes: Any) -> T:
    """Return a shallow copy of an object in which the given attributes have other values."""
    found = copy(original)
    vars(found).update(attributes)
    return found
