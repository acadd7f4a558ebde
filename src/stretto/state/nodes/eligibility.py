"""Eligibility: results of rules that depend on the node object alone, cached as rows over slots.

A static rule (selector, affinity, taints) gives the same result for every pod with the same
signature until a node changes. Therefore each distinct tuple of signatures has one byte row that
marks the eligible slots, and one row of weighted static scores. Node changes are recorded by slot
and patched into every row, as one batch, at the next read. Rules are passed in as objects: this
module depends on their protocol only.

Memory limits the number of rows; a new signature replaces the least recently used row. A row number
is therefore valid only while the row's serial equals the serial that was read with it.
"""

from collections.abc import Callable, Hashable, Sequence
from typing import Final, Generic, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from stretto.base.errors import InputError
from stretto.state.classes.table import PodClass
from stretto.state.nodes.labels import BoolArray, SlotArray
from stretto.state.nodes.static_rows import RowKind, Signer, StaticRows, Values
from stretto.state.nodes.table import NodeFacts

ScoreArray = npt.NDArray[np.int32]

ROW_BYTES: Final = 64 << 20
"""Memory in bytes for the rows of each kind: 3,200 filter rows at 20,000 nodes."""
SCORE_LIMIT: Final = np.iinfo(np.int16).max
"""Largest sum of weighted scores that fits a row."""

V = TypeVar("V")
V_contra = TypeVar("V_contra", contravariant=True)


class StaticRule(Protocol):
    """Common protocol of static filters and scores.

    A rule that is both a filter and a score may also define ``filter_signature`` and
    ``score_signature``, which return the inputs of each half. Pods that differ only in the inputs
    of the other half then share a row.
    """

    def signature(self, pod: PodClass) -> Hashable | None:
        """Part of the class on which the result depends; ``None`` if the rule does not apply."""
        ...


class StaticFilter(StaticRule, Protocol[V_contra]):
    """A filter whose result depends on the class and the node object alone."""

    def filter(self, pod: PodClass, view: V_contra, slots: SlotArray) -> BoolArray:
        """bool[k]: true where the pod may run."""
        ...


class StaticScore(StaticRule, Protocol[V_contra]):
    """A score that depends on the class and the node object alone."""

    def score(self, pod: PodClass, view: V_contra, slots: SlotArray) -> ScoreArray:
        """int32[k]: scores in 0..100."""
        ...


class Eligibility(Generic[V]):
    """The static rows of one profile."""

    def __init__(
        self,
        filters: Sequence[StaticFilter[V]],
        scores: Sequence[tuple[StaticScore[V], int]],
        nodes: NodeFacts,
        view: Callable[[], V],
        row_bytes: int = ROW_BYTES,
    ) -> None:
        """Create the rows of these rules.

        Args:
            filters: static filters in the profile's order.
            scores: static scores with their weights.
            nodes: the nodes whose slots the rows cover.
            view: returns the current view that rules read.
            row_bytes: memory in bytes for the rows of each kind.

        Raises:
            InputError: a weight is negative, or the weighted scores could exceed int16.
        """
        weights = [weight for _, weight in scores]
        if any(weight < 0 for weight in weights) or 100 * sum(weights) > SCORE_LIMIT:
            expected = f"weights from 0, of at most {SCORE_LIMIT // 100} in sum"
            raise InputError("weights of static scores", weights, expected)
        self._nodes = nodes
        self._stale: npt.NDArray[np.uint8] = np.zeros(0, np.uint8)
        self._any_stale = False

        def judge_filter(rule: int, pod: PodClass, slots: SlotArray) -> Values:
            return filters[rule].filter(pod, view(), slots)

        def judge_score(rule: int, pod: PodClass, slots: SlotArray) -> Values:
            scorer, weight = scores[rule]
            return np.asarray(scorer.score(pod, view(), slots) * weight)

        signers = tuple(_signer(rule, "filter_signature") for rule in filters)
        self._filters = StaticRows(
            RowKind(signers, judge_filter, _all_pass, np.uint8), nodes, row_bytes
        )
        signers = tuple(_signer(rule, "score_signature") for rule, _ in scores)
        self._scores = StaticRows(RowKind(signers, judge_score, _sum, np.int16), nodes, row_bytes)
        self.grow(nodes.size)
        self._filters.array[0, nodes.live_slots()] = 1

    def tables(
        self,
    ) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int16], npt.NDArray[np.int32]]:
        """Return ``rows``, ``scores`` and ``uniform``; read them again for each use."""
        self._catch_up()
        return self._filters.array, self._scores.array, self._scores.uniform

    @property
    def rows(self) -> npt.NDArray[np.uint8]:
        """uint8[row, slot]: 1 where pods of the row may run; 0 where the slot has no node.

        The array is larger than the part in use, and is reallocated when rows or nodes are added:
        read it again for each use.
        """
        self._catch_up()
        return self._filters.array

    @property
    def scores(self) -> npt.NDArray[np.int16]:
        """int16[row, slot]: weighted sums of static scores; read it again for each use."""
        self._catch_up()
        return self._scores.array

    @property
    def uniform(self) -> npt.NDArray[np.int32]:
        """int32[row]: score of a row of ``scores`` on every live slot; -1 if it varies."""
        self._catch_up()
        return self._scores.uniform

    @property
    def epoch(self) -> int:
        """Incremented when a row is reassigned to another signature: check cached row numbers.

        To cache row numbers: ``mark_used`` those of a batch, request the missing ones, and if the
        epoch has risen meanwhile, drop every number whose serial is not the one read with it.
        """
        return self._filters.reassigned_rows + self._scores.reassigned_rows

    @property
    def row_serials(self) -> npt.NDArray[np.int64]:
        """int64[row]: changes when a row of ``rows`` is reassigned to another signature."""
        return self._filters.serials

    @property
    def score_serials(self) -> npt.NDArray[np.int64]:
        """int64[row]: changes when a row of ``scores`` is reassigned to another signature."""
        return self._scores.serials

    def filter_row(self, pod: PodClass) -> int:
        """The row of ``rows`` with the eligible slots of a class; 0 means "every node"."""
        self._catch_up()
        return self._filters.row(pod)

    def score_row(self, pod: PodClass) -> int:
        """The row of ``scores`` of a class; 0 means "no rule applies"."""
        self._catch_up()
        return self._scores.row(pod)

    def mark_used(
        self, filter_rows: npt.NDArray[np.integer], score_rows: npt.NDArray[np.integer]
    ) -> None:
        """Mark rows as just used, so that they are reassigned last."""
        self._filters.mark_used(filter_rows)
        self._scores.mark_used(score_rows)

    def renew_score(self, rule: int) -> SlotArray:
        """Recompute one score in every row where it applies; int64[k]: slots whose value changed.

        For scores that also depend on other nodes.
        """
        self._catch_up()
        return self._scores.renew(rule)

    def grow(self, size: int) -> None:
        """Grow the rows to at least ``size`` slots."""
        self._filters.widen(size)
        self._scores.widen(size)
        missing = self._filters.array.shape[1] - len(self._stale)
        self._stale = np.concatenate([self._stale, np.zeros(missing, np.uint8)])

    def refresh(self, slots: Sequence[int] | npt.NDArray[np.integer]) -> None:
        """Record that the nodes of these slots were added, removed or changed; cheap."""
        if self._nodes.size > len(self._stale):
            self.grow(self._nodes.size)
        self._stale[slots] = 1
        self._any_stale = True

    def _catch_up(self) -> None:
        """Patch the recorded changes into every row."""
        if not self._any_stale:
            return
        stale = np.flatnonzero(self._stale[: self._nodes.size])
        lives = self._nodes.live[stale] > 0
        self._filters.patch(stale[~lives], stale[lives])
        self._scores.patch(stale[~lives], stale[lives])
        self._stale[:] = 0
        self._any_stale = False


def _signer(rule: StaticRule, name: str) -> Signer:
    """The rule's own signature for one half, or its common signature."""
    signer: Signer = getattr(rule, name, rule.signature)
    return signer


def _all_pass(answers: list[Values], count: int) -> Values:
    """1 where every result is True."""
    mask = np.ones(count, np.bool_)
    for answer in answers:
        mask &= answer
    return mask.view(np.uint8)


def _sum(answers: list[Values], count: int) -> Values:
    """Sum of the results."""
    total = np.zeros(count, np.int32)
    for answer in answers:
        total += answer
    return total.astype(np.int16)
