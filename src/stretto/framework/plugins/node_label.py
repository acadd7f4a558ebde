"""NodeLabel: filters and scores nodes by the presence of labels, regardless of their values.

A profile names labels that must be present or absent, and labels that should be present or absent.
The arguments are kube-scheduler's and Gödel's. The score is absolute: the percentage of the
preferences that the node satisfies.
"""

from collections.abc import Hashable, Mapping
from typing import Any, ClassVar, Final

import numpy as np

from stretto.framework.contract import arguments as read
from stretto.framework.contract.rule import (
    TOP_SCORE,
    BoolArray,
    FilterRule,
    IntArray,
    Scope,
    ScoreRule,
    SlotArray,
    View,
)
from stretto.state.classes.table import PodClass
from stretto.state.work.units import Cure

NAME: Final = "NodeLabel"
REASON: Final = "node(s) didn't have the requested labels"
_KEYS: Final = (
    "presentLabels",
    "absentLabels",
    "presentLabelsPreference",
    "absentLabelsPreference",
)


class NodeLabelRule(FilterRule, ScoreRule):
    """Filters and scores nodes by the presence of labels."""

    NAME: ClassVar[str] = NAME
    SCOPE: ClassVar[Scope] = Scope.STATIC
    REASON: ClassVar[str] = REASON
    RESOLVABLE: ClassVar[bool] = False
    CURES: ClassVar[Cure] = Cure.NODE_ADDED | Cure.NODE_LABELS

    def __init__(self, args: Mapping[str, Any]) -> None:
        """Read four lists of label keys."""
        super().__init__(args)
        given = read.arguments(args, _KEYS, NAME)
        lists = {key: _labels(given.get(key), key) for key in _KEYS}
        #: Labels that a node must have, and those it must not.
        self.present, self.absent = lists["presentLabels"], lists["absentLabels"]
        #: Labels that a node should have, and those it should not.
        self.wanted, self.unwanted = (
            lists["presentLabelsPreference"],
            lists["absentLabelsPreference"],
        )

    def signature(self, pod: PodClass) -> Hashable | None:
        """Equal for every pod; ``None`` if the profile names no label."""
        lists = (self.present, self.absent, self.wanted, self.unwanted)
        return NAME if any(lists) else None

    def filter(self, pod: PodClass, view: View, slots: SlotArray) -> BoolArray:
        """bool[k]: true where every required label is present and every forbidden one absent."""
        passes = np.ones(len(slots), np.bool_)
        for key in self.present:
            passes &= _has(view, key, slots)
        for key in self.absent:
            passes &= ~_has(view, key, slots)
        return passes

    def score(self, pod: PodClass, view: View, slots: SlotArray) -> IntArray:
        """int32[k]: percentage of the preferences that a node satisfies."""
        met, count = np.zeros(len(slots), np.int32), len(self.wanted) + len(self.unwanted)
        for key in self.wanted:
            met += _has(view, key, slots)
        for key in self.unwanted:
            met += ~_has(view, key, slots)
        return met * np.int32(TOP_SCORE) // np.int32(max(1, count))


def _labels(value: Any, key: str) -> tuple[str, ...]:
    where = f"args of {NAME}: {key}"
    return tuple(
        read.text(each, f"{where}[{i}]") for i, each in enumerate(read.sequence(value, where))
    )


def _has(view: View, key: str, slots: SlotArray) -> BoolArray:
    """bool[k]: true where a node has a label."""
    has: BoolArray = view.nodes.labels.column(key)[slots] > 0
    return has
