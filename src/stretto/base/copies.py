"""Copies of objects that differ in a few attributes."""

from copy import copy
from typing import Any, TypeVar

T = TypeVar("T")


def copied_with(original: T, **attributes: Any) -> T:
    """A shallow copy of an object with other values of some attributes."""
    found = copy(original)
    vars(found).update(attributes)
    return found
