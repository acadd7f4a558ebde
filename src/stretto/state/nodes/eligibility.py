"""Eligibility: what depends on the node object alone, kept as rows over slots.

A static rule (selector, affinity, taints) answers the same for every pod with the same signature
until a node changes. So each distinct tuple of signatures has one byte row that says where such
pods may go, and one row of weighted static scores. Node changes are noted by slot and patched into
every row, as one batch, when somebody next looks. Rules come in as objects: this room knows their
shape, not their names.

Rows are bounded by memory, and the one used longest ago is given to the next signature. A row
number is therefore good only while its serial is the one that was read with it.
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
"""Memory for the rows of either kind: 3,200 filter rows at 20,000 nodes."""
SCORE_LIMIT: Final = np.iinfo(np.int16).max
"""Largest sum of weighted scores that a row holds."""

V = TypeVar("V")
V_contra = TypeVar("V_contra", contravariant=True)


class StaticRule(Protocol):
    """What a filter and a score have in common.

    A rule that is both may also have ``filter_signature`` and ``score_signature``, which name what
    either half depends on: pods that differ in the other half then share a row.
    """

    def signature(self, pod: PodClass) -> Hashable | None:
        """What of the class the answer depends on; ``None`` when the rule has no say."""
        ...


class StaticFilter(StaticRule, Protocol[V_contra]):
    """A filter whose answer depends on the class and the node object alone."""

    def filter(self, pod: PodClass, view: V_contra, slots: SlotArray) -> BoolArray:
        """bool[k]: True where the pod may go."""
        ...


class StaticScore(StaticRule, Protocol[V_contra]):
    """A score that depends on the class and the node object alone."""

    def score(self, pod: PodClass, view: V_contra, slots: SlotArray) -> ScoreArray:
        """int32[k] in 0..100."""
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
        """Rows for these rules.

        Args:
            filters: static filters in the profile's order.
            scores: static scores with their weights.
            nodes: the nodes whose slots the rows cover.
            view: what rules are shown, as it is now.
            row_bytes: memory for the rows of either kind.

        Raises:
            InputError: the weights are negative or their scores could pass int16.
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

    @property
    def rows(self) -> npt.NDArray[np.uint8]:
        """uint8[row, slot]: 1 where pods of the row may go; 0 where no node lives.

        Wider and longer than what is in use, and another array after a row or node came: read it
        anew each time.
        """
        self._catch_up()
        return self._filters.array

    @property
    def scores(self) -> npt.NDArray[np.int16]:
        """int16[row, slot]: weighted sums of static scores; read it anew each time."""
        self._catch_up()
        return self._scores.array

    @property
    def uniform(self) -> npt.NDArray[np.int32]:
        """int32[row]: the score that a row of ``scores`` has wherever a node lives; -1 for none."""
        self._catch_up()
        return self._scores.uniform

    @property
    def epoch(self) -> int:
        """Rises when a row was given to another signature: kept row numbers must be checked.

        To keep row numbers: ``keep`` those of a batch, ask for the missing ones, and where the
        epoch rose meanwhile forget every number whose serial is not the one read with it.
        """
        return self._filters.reassigned_rows + self._scores.reassigned_rows

    @property
    def row_serials(self) -> npt.NDArray[np.int64]:
        """int64[row]: changes when a row of ``rows`` is given to another signature."""
        return self._filters.serials

    @property
    def score_serials(self) -> npt.NDArray[np.int64]:
        """int64[row]: changes when a row of ``scores`` is given to another signature."""
        return self._scores.serials

    def filter_row(self, pod: PodClass) -> int:
        """The row of ``rows`` that says where pods of a class may go; 0 is "on every node"."""
        self._catch_up()
        return self._filters.row(pod)

    def score_row(self, pod: PodClass) -> int:
        """The row of ``scores`` of a class; 0 is "no rule has a say"."""
        self._catch_up()
        return self._scores.row(pod)

    def filter_on(self, pod: PodClass, slots: SlotArray) -> BoolArray:
        """bool[k]: where a pod may go, of some live slots: for pinned pods, which need no row."""
        return self._filters.answer(pod, slots).astype(np.bool_)

    def score_on(self, pod: PodClass, slots: SlotArray) -> npt.NDArray[np.int16]:
        """int16[k]: weighted static scores on some live slots, without a row."""
        return self._scores.answer(pod, slots).astype(np.int16)

    def keep(
        self, filter_rows: npt.NDArray[np.integer], score_rows: npt.NDArray[np.integer]
    ) -> None:
        """Count rows as used now, so that they are the last to be given away."""
        self._filters.keep(filter_rows)
        self._scores.keep(score_rows)

    def renew_score(self, rule: int) -> SlotArray:
        """Ask one score anew wherever it has a say; int64[k]: slots that have another value.

        For scores that depend on what other nodes are too.
        """
        self._catch_up()
        return self._scores.renew(rule)

    def grow(self, size: int) -> None:
        """Make the rows at least ``size`` slots long."""
        self._filters.widen(size)
        self._scores.widen(size)
        missing = self._filters.array.shape[1] - len(self._stale)
        self._stale = np.concatenate([self._stale, np.zeros(missing, np.uint8)])

    def refresh(self, slots: Sequence[int] | npt.NDArray[np.integer]) -> None:
        """Note that the nodes of these slots came, went or changed; cheap, one by one too."""
        if self._nodes.size > len(self._stale):
            self.grow(self._nodes.size)
        self._stale[slots] = 1
        self._any_stale = True

    def _catch_up(self) -> None:
        """Patch what was noted into every row."""
        if not self._any_stale:
            return
        asked = np.flatnonzero(self._stale[: self._nodes.size])
        lives = self._nodes.live[asked] > 0
        self._filters.patch(asked[~lives], asked[lives])
        self._scores.patch(asked[~lives], asked[lives])
        self._stale[:] = 0
        self._any_stale = False


def _signer(rule: StaticRule, name: str) -> Signer:
    """The rule's own word for one half of it, or its signature as a whole."""
    signer: Signer = getattr(rule, name, rule.signature)
    return signer


def _all_pass(answers: list[Values], count: int) -> Values:
    """1 where every answer is True."""
    mask = np.ones(count, np.bool_)
    for answer in answers:
        mask &= answer
    return mask.view(np.uint8)


def _sum(answers: list[Values], count: int) -> Values:
    """The sum of the answers."""
    total = np.zeros(count, np.int32)
    for answer in answers:
        total += answer
    return total.astype(np.int16)
