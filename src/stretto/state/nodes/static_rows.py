"""Rows of a static table: one per distinct signature, shared by all classes with that signature.

This is the implementation of ``eligibility``. It maps signatures to rows, fills rows, reassigns the
least recently used row when memory is short, and updates a batch of slots in all rows. Each rule
runs once per distinct signature of its own, and the results are combined. Therefore classes that
differ in one rule do not recompute the others.
"""

from collections.abc import Callable, Hashable
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from stretto.state.classes.table import PodClass
from stretto.state.nodes.labels import SlotArray
from stretto.state.nodes.table import NodeFacts
from stretto.state.rows.shared_values import SharedValues
from stretto.state.rows.slots import BLOCK

Values = npt.NDArray[Any]
"""Results of one rule or one row for some slots."""
Signer = Callable[[PodClass], Hashable | None]
"""Returns the part of a class on which a rule's result depends.

``None`` if the rule does not apply.
"""
Judge = Callable[[int, PodClass, SlotArray], Values]
"""Evaluates a rule, given by position, for a class and some slots."""
Join = Callable[[list[Values], int], Values]
"""Combines the results of several rules for k slots."""

MIN_ROWS: Final = 256
"""Minimum number of rows at any cluster size: more than the classes of one batch in practice."""
SERIAL_LIMIT: Final = 100_000
"""Maximum number of cached rows by class serial; the cache is cleared when full."""
MEMO_LIMIT: Final = 16
"""Maximum number of cached rule results while rows are filled: few distinct cordons and taints."""
PATCH_VALUES: Final = 1 << 22
"""Maximum number of values in memory while rows are patched: 16 MB of scores."""


class _RulePart(NamedTuple):
    """One rule with one signature; rows are combinations of parts."""

    #: Position of the rule.
    rule: int
    #: Part of the class on which the rule's result depends.
    signature: Hashable
    #: A class with this signature, for evaluation.
    pod: PodClass


class RowKind(NamedTuple):
    """Functions that compute the rows of a table."""

    #: One signature function per rule.
    signers: tuple[Signer, ...]
    #: Evaluates a rule, given by position, for a class and some slots.
    judge: Judge
    #: Combines the results of a row's parts.
    join: Join
    #: Element type of the rows.
    dtype: npt.DTypeLike


class StaticRows:
    """Rows of one kind, found by signature."""

    def __init__(self, kind: RowKind, nodes: NodeFacts, row_bytes: int) -> None:
        """Start with row 0 only, to which no rule applies."""
        self._kind = kind
        self._nodes = nodes
        self._row_bytes = row_bytes
        #: [row, slot]: larger than the part in use, for growth; the spare part is 0.
        self.array: Values = np.zeros((8, 0), kind.dtype)
        #: int64[row]: serial of the row's content; 0 if it was never filled.
        self.serials: npt.NDArray[np.int64] = np.zeros(8, np.int64)
        #: int32[row]: value of a row on every live slot; -1 if the values differ or may differ.
        self.uniform: npt.NDArray[np.int32] = np.zeros(8, np.int32)
        #: Number of reassigned rows so far.
        self.reassigned_rows: int = 0
        self._used_at: npt.NDArray[np.int64] = np.zeros(8, np.int64)
        self._clock = 1
        self._parts: SharedValues[tuple[int, Hashable], _RulePart | None] = SharedValues(None)
        #: Part ids of each row; row 0 has none and is permanent.
        self._rows: list[tuple[int, ...]] = [()]
        #: Results for all live slots of the most recent parts; valid until a node changes.
        self._memo: dict[tuple[int, Hashable], Values] = {}
        self._memo_version = -1
        self._live: SlotArray = nodes.live_slots()
        self._row_of: dict[tuple[int, ...], int] = {(): 0}
        #: (row, serial of its content) by class serial; serial 0 belongs to no interned class.
        self._row_of_serial: dict[int, tuple[int, int]] = {}
        self.serials[0] = 1

    def row(self, pod: PodClass) -> int:
        """The row of a class, computed at first use."""
        self._clock += 1
        row, filling = self._row_of_serial.get(pod.serial, (0, -1))
        if self.serials[row] != filling:
            row = self._row_by_signature(pod)
            if pod.serial > 0:
                if len(self._row_of_serial) >= SERIAL_LIMIT:
                    self._row_of_serial.clear()
                self._row_of_serial[pod.serial] = (row, int(self.serials[row]))
        self._used_at[row] = self._clock
        return row

    def mark_used(self, rows: npt.NDArray[np.integer]) -> None:
        """Mark these rows as just used."""
        self._clock += 1
        self._used_at[rows] = self._clock

    def answer(self, pod: PodClass, slots: SlotArray) -> Values:
        """Compute a row's values for some live slots, without allocating a row."""
        results = [
            self._kind.judge(rule, pod, slots)
            for rule, sign in enumerate(self._kind.signers)
            if sign(pod) is not None
        ]
        return self._kind.join(results, len(slots))

    def widen(self, size: int) -> None:
        """Grow the rows to at least ``size`` slots, with spare capacity."""
        if size > self.array.shape[1]:
            width = -(-(size + size // 4) // BLOCK) * BLOCK
            wider = np.zeros((len(self.array), width), self._kind.dtype)
            wider[:, : self.array.shape[1]] = self.array
            self.array = wider

    def patch(self, dead: SlotArray, live: SlotArray) -> None:
        """Update these slots in every row."""
        self.array[:, dead] = 0
        step = max(BLOCK, PATCH_VALUES // max(1, len(self._parts.values)))
        for start in range(0, len(live), step):
            self._patch_live(live[start : start + step])

    def renew(self, rule: int) -> SlotArray:
        """Re-evaluate one rule in every row that uses it; int64[k]: slots whose value changed."""
        self._memo = {key: cached for key, cached in self._memo.items() if key[0] != rule}
        live = self._nodes.live_slots()
        changed = np.zeros(len(live), np.bool_)
        for row, ids in enumerate(self._rows):
            parts = [part for i in ids if (part := self._parts.values[i]) is not None]
            if all(part.rule != rule for part in parts):
                continue
            results = [self._kind.judge(part.rule, part.pod, live) for part in parts]
            values = self._kind.join(results, len(live))
            changed |= values != self.array[row, live]
            self.array[row, live] = values
            self.uniform[row] = _common(values)
        return live[changed]

    def _patch_live(self, live: SlotArray) -> None:
        """Evaluate each part once for these slots, and combine the results row by row."""
        results = [
            self._kind.judge(part.rule, part.pod, live) if part is not None else None
            for part in self._parts.values
        ]
        for row, parts in enumerate(self._rows):
            answers = [answer for part in parts if (answer := results[part]) is not None]
            values = self._kind.join(answers, len(live))
            self.array[row, live] = values
            if self.uniform[row] >= 0 and (values != self.uniform[row]).any():
                self.uniform[row] = -1

    def _row_by_signature(self, pod: PodClass) -> int:
        signatures = [
            (rule, signature)
            for rule, sign in enumerate(self._kind.signers)
            if (signature := sign(pod)) is not None
        ]
        ids = tuple([self._parts.find(each) for each in signatures])
        found = self._row_of.get(ids)
        if found is not None:
            return found
        answers = [self._evaluate(rule, signature, pod) for rule, signature in signatures]
        values = self._kind.join(answers, len(self._live))
        parts = [_RulePart(rule, signature, pod) for rule, signature in signatures]
        row = self._allot_row(parts)
        self.array[row] = 0
        self.array[row, self._live] = values
        self.uniform[row] = _common(values)
        return row

    def _evaluate(self, rule: int, signature: Hashable, pod: PodClass) -> Values:
        """A rule's result for all live slots, cached because most rules have few signatures."""
        if self._memo_version != self._nodes.version:
            self._memo.clear()
            self._memo_version = self._nodes.version
            self._live = self._nodes.live_slots()
        answer = self._memo.pop((rule, signature), None)
        if answer is None:
            answer = self._kind.judge(rule, pod, self._live)
        self._memo[rule, signature] = answer
        if len(self._memo) > MEMO_LIMIT:
            del self._memo[next(iter(self._memo))]
        return answer

    def _allot_row(self, parts: list[_RulePart]) -> int:
        """Return a row for these parts.

        A new one while memory allows, or else the least recently used.
        """
        width = max(1, self.array.shape[1]) * self.array.itemsize
        limit = max(MIN_ROWS, self._row_bytes // width)
        if len(self._rows) < limit:
            row = len(self._rows)
            self._rows.append(())
            self._grow_rows_to(len(self._rows))
        else:
            row = 1 + int(self._used_at[1 : len(self._rows)].argmin())
            self._release(row)
        ids = tuple([self._use_part(part) for part in parts])
        self._rows[row] = ids
        self._row_of[ids] = row
        self._clock += 1
        self.serials[row] = self._clock
        return row

    def _grow_rows_to(self, count: int) -> None:
        """Grow to ``count`` rows."""
        missing = count - len(self.array)
        if missing > 0:
            more = max(missing, len(self.array) // 2)
            spare = np.zeros((more, self.array.shape[1]), self._kind.dtype)
            self.array = np.concatenate([self.array, spare])
            zeros = np.zeros(more, np.int64)
            self.serials = np.concatenate([self.serials, zeros])
            self._used_at = np.concatenate([self._used_at, zeros])
            self.uniform = np.concatenate([self.uniform, zeros.astype(np.int32)])

    def _release(self, row: int) -> None:
        """Release the parts of a row."""
        self.reassigned_rows += 1
        ids = self._rows[row]
        del self._row_of[ids]
        for part in ids:
            self._parts.release(part)

    def _use_part(self, part: _RulePart) -> int:
        key = (part.rule, part.signature)
        found = self._parts.find(key)
        if found < 0:
            found = self._parts.add(key, part)
        self._parts.use(found)
        return found


def _common(values: Values) -> int:
    """Value shared by all entries, if it is not negative; -1 if they differ."""
    first = int(values[0]) if len(values) else 0
    return first if first >= 0 and (values == first).all() else -1
