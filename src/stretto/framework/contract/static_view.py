"""The view of a rule with the scope STATIC: nodes, without the columns that claims change.

The result of a static rule is cached until the node changes. If a static rule read a column that
claims change, its cached result would become wrong. Therefore such a read is an error.
"""

from collections.abc import Sized
from typing import Any, Final, cast

from stretto.base.errors import StrettoError
from stretto.framework.contract.rule import View

CLAIMED: Final = {
    "columns": frozenset({
        "free", "version", "ports", "device_free", "census", "log", "log_state", "head",
    }),
    "columns.ledger": frozenset({
        "used", "version", "ports", "head", "changes_since", "promises",
    }),
    "columns.ledger.devices": frozenset({"free", "census"}),
    "nodes": frozenset({"topology"}),
    "look": frozenset(),
}  # fmt: skip
"""Names that claims change, by their place in a view; every name of ``look`` is one of them."""
_INNER: Final = {
    "columns": {"ledger": "columns.ledger"},
    "columns.ledger": {"devices": "columns.ledger.devices"},
}


class ClaimedColumnError(StrettoError):
    """Error of a static rule that reads a column which claims change."""

    def __init__(self, column: str) -> None:
        super().__init__(column)
        #: Column, with its path from the view.
        self.column = column

    def __str__(self) -> str:
        return (
            f"reads {self.column}, which claims change, although its SCOPE is Scope.STATIC; "
            "declare Scope.SLOT, or Scope.DOMAIN if it depends on other nodes"
        )


class StaticPart:
    """A part of a view that refuses access to the names that claims change."""

    def __init__(self, part: object, place: str) -> None:
        """Guard a part of a view; ``place`` is its place in the view."""
        self._part = part
        self._place = place

    def __len__(self) -> int:
        """Number of items of the part, which claims do not change."""
        return len(cast(Sized, self._part))

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the part.

        Raises:
            ClaimedColumnError: claims change it.
        """
        place = self._place
        if place == "look" or name in CLAIMED[place]:
            raise ClaimedColumnError(f"{place}.{name}")
        found = getattr(self._part, name)
        inner = _INNER.get(place, {}).get(name)
        return found if inner is None else StaticPart(found, inner)


def static_view(view: View) -> View:
    """Return the view for a static rule; a view that is already static is returned unchanged."""
    if isinstance(view.columns, StaticPart):
        return view
    return view._replace(
        columns=cast(Any, StaticPart(view.columns, "columns")),
        nodes=cast(Any, StaticPart(view.nodes, "nodes")),
        look=cast(Any, StaticPart(view.look, "look")),
    )


def whole_view(view: View) -> View:
    """Return the view behind a static one; any other view is returned unchanged."""
    columns: Any = view.columns
    if not isinstance(columns, StaticPart):
        return view
    nodes, look = cast(StaticPart, view.nodes), cast(StaticPart, view.look)
    parts = [vars(each)["_part"] for each in (columns, nodes, look)]
    return view._replace(columns=parts[0], nodes=parts[1], look=parts[2])
