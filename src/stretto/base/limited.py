"""A map with a limited number of entries, for caches and for the memory of repetitions."""

from collections import OrderedDict
from typing import TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


class LimitedMap(OrderedDict[Key, Value]):
    """A map that contains the entries that were set last.

    >>> known = LimitedMap[str, int](2)
    >>> for name in ("a", "b", "a", "c"):
    ...     known[name] = len(name)
    >>> list(known)
    ['a', 'c']
    """

    # A dict searches its first entry behind all deleted ones; an OrderedDict does not.

    def __init__(self, most: int) -> None:
        """Create an empty map.

        Args:
            most: maximum number of entries.
        """
        super().__init__()
        self._most = most

    def __setitem__(self, key: Key, value: Value) -> None:
        """Set an entry as the last one; drop the first entry of a map that is full."""
        super().__setitem__(key, value)
        self.move_to_end(key)
        if len(self) > self._most:
            self.popitem(last=False)
