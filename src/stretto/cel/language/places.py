"""Identifiers of the nodes in one expression, and their places in the source."""

from dataclasses import fields, is_dataclass
from itertools import count
from typing import Any, Final

from stretto.cel.language.nodes import Node

_MOST_NODES: Final = 20_000
"""Maximum nodes of an expression. ``optMap`` copies its receiver, so chains of it grow fast."""


class TooLargeError(Exception):
    """An expression is too deep or has too many nodes."""


class Places:
    """Places of the nodes in one expression."""

    def __init__(self) -> None:
        self._numbers = count(1)
        #: Offsets in the source by identifier.
        self.offsets: dict[int, int] = {}

    def new(self, offset: int) -> int:
        """Return the identifier of a new node.

        Args:
            offset: place of the node in the source.

        Raises:
            TooLargeError: the expression has too many nodes.
        """
        number = next(self._numbers)
        if number > _MOST_NODES:
            raise TooLargeError(f"expression node limit exceeded: {_MOST_NODES}")
        self.offsets[number] = offset
        return number

    def copied(self, node: Node) -> Node:
        """Return a copy of a node, with new identifiers at the same places."""
        copy: Node = self._copied(node)
        return copy

    def _copied(self, value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(map(self._copied, value))
        if not is_dataclass(value) or isinstance(value, type):
            return value
        parts = {each.name: self._copied(getattr(value, each.name)) for each in fields(value)}
        return type(value)(**{**parts, "id": self.new(self.offsets[parts["id"]])})
