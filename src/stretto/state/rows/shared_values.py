"""Values by number: rows contain the number of a value that many rows share."""

from collections.abc import Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class SharedValues(Generic[Key, Value]):
    """Values by number, found by key and reference-counted; a free number is assigned again."""

    def __init__(self, free: Value) -> None:
        """Start without values; ``free`` is the value at the free numbers."""
        #: Values by number.
        self.values: list[Value] = []
        self._value_of_free = free
        self._numbers: dict[Key, int] = {}
        self._keys: list[Key] = []
        self._users: list[int] = []
        self._free: list[int] = []

    def find(self, key: Key) -> int:
        """Return the number of a key; -1 if it has no value."""
        return self._numbers.get(key, -1)

    def add(self, key: Key, value: Value) -> int:
        """Return the number of a new key; count its users with ``use``."""
        if self._free:
            number = self._free.pop()
            self.values[number], self._keys[number] = value, key
        else:
            number = len(self.values)
            self.values.append(value)
            self._keys.append(key)
            self._users.append(0)
        self._numbers[key] = number
        return number

    def use(self, number: int) -> None:
        """Count another user of a value."""
        self._users[number] += 1

    def release(self, number: int) -> bool:
        """Subtract one user; returns whether it was the last, which frees the number."""
        self._users[number] -= 1
        if self._users[number]:
            return False
        del self._numbers[self._keys[number]]
        self.values[number] = self._value_of_free
        self._free.append(number)
        return True
