"""Rows of a static table: one per distinct signature, shared by all classes that have it.

The machinery under ``eligibility``: which row belongs to which signature, what it is made of, which
is given away when memory is short, and how a batch of slots is made right in all of them. Rules
are asked once per distinct signature of their own and the answers joined, so that classes that
differ in one rule do not pay for the others again.
"""

from collections.abc import Callable, Hashable
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from stretto.state.classes.table import PodClass
from stretto.state.nodes.labels import SlotArray
from stretto.state.nodes.table import NodeFacts
from stretto.state.rows.slots import BLOCK

Values = npt.NDArray[Any]
"""Answers of one rule or one row for some slots."""
Signer = Callable[[PodClass], Hashable | None]
"""Names what of a class a rule's answer depends on; ``None`` when the rule has no say."""
Judge = Callable[[int, PodClass, SlotArray], Values]
"""Asks a rule, by position, about a class and some slots."""
Join = Callable[[list[Values], int], Values]
"""Joins the answers of several rules for k slots."""

MIN_ROWS: Final = 256
"""Rows kept however many nodes there are: more than the classes of one batch in practice."""
SERIAL_LIMIT: Final = 100_000
"""Classes whose row is remembered by serial; the memory is emptied when full."""
MEMO_LIMIT: Final = 16
"""Answers of rules kept while rows are filled: cordons and taints have a handful."""
PATCH_VALUES: Final = 1 << 22
"""Answers held at once while rows are patched: 16 MB of scores."""


class _RulePart(NamedTuple):
    """One rule's say for one signature; rows are made of parts."""

    #: Position of the rule.
    rule: int
    #: What the rule's answer depends on.
    signature: Hashable
    #: A class with this signature, to ask the rule with.
    pod: PodClass


class RowKind(NamedTuple):
    """How a table of rows gets its values."""

    #: One signature function per rule.
    signers: tuple[Signer, ...]
    #: Asks a rule, by position, about a class and some slots.
    judge: Judge
    #: Joins the answers of a row's parts.
    join: Join
    #: Element type of the rows.
    dtype: npt.DTypeLike


class StaticRows:
    """Rows of one kind, found by signature."""

    def __init__(self, kind: RowKind, nodes: NodeFacts, row_bytes: int) -> None:
        """Start with row 0 alone, in which no rule has a say."""
        self._kind = kind
        self._nodes = nodes
        self._row_bytes = row_bytes
        #: [row, slot], larger than what is in use by some room to grow, which is 0.
        self.array: Values = np.zeros((8, 0), kind.dtype)
        #: int64[row]: number of the row's filling; 0 where it never was filled.
        self.serials: npt.NDArray[np.int64] = np.zeros(8, np.int64)
        #: int32[row]: the value of a row in every live slot; -1 where they are not (or may not be)
        #: the same.
        self.uniform: npt.NDArray[np.int32] = np.zeros(8, np.int32)
        #: Rows given away so far.
        self.reassigned_rows: int = 0
        self._used_at: npt.NDArray[np.int64] = np.zeros(8, np.int64)
        self._clock = 1
        self._parts: list[_RulePart | None] = []
        self._rule_part_users: list[int] = []
        self._rule_part_ids: dict[tuple[int, Hashable], int] = {}
        self._free_rule_parts: list[int] = []
        #: Part ids of each row; row 0 has none and stays.
        self._rows: list[tuple[int, ...]] = [()]
        #: Answers for all live slots, of the parts asked last, while no node changes.
        self._memo: dict[tuple[int, Hashable], Values] = {}
        self._memo_version = -1
        self._live: SlotArray = nodes.live_slots()
        self._row_of: dict[tuple[int, ...], int] = {(): 0}
        #: Row and its filling by serial of the class; serial 0 is no interned class's.
        self._row_of_serial: dict[int, tuple[int, int]] = {}
        self.serials[0] = 1

    def row(self, pod: PodClass) -> int:
        """The row of a class, computed on first sight."""
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

    def keep(self, rows: npt.NDArray[np.integer]) -> None:
        """Count these rows as used now."""
        self._clock += 1
        self._used_at[rows] = self._clock

    def answer(self, pod: PodClass, slots: SlotArray) -> Values:
        """What a row would hold for some live slots, computed without one."""
        said = [
            self._kind.judge(rule, pod, slots)
            for rule, sign in enumerate(self._kind.signers)
            if sign(pod) is not None
        ]
        return self._kind.join(said, len(slots))

    def widen(self, size: int) -> None:
        """Make the rows at least ``size`` slots long, with room for more."""
        if size > self.array.shape[1]:
            width = -(-(size + size // 4) // BLOCK) * BLOCK
            wider = np.zeros((len(self.array), width), self._kind.dtype)
            wider[:, : self.array.shape[1]] = self.array
            self.array = wider

    def patch(self, dead: SlotArray, live: SlotArray) -> None:
        """Make these slots right in every row."""
        self.array[:, dead] = 0
        step = max(BLOCK, PATCH_VALUES // max(1, len(self._parts)))
        for start in range(0, len(live), step):
            self._patch_live(live[start : start + step])

    def renew(self, rule: int) -> SlotArray:
        """Ask one rule again in every row in which it has a say; int64[k]: slots that differ."""
        self._memo = {key: kept for key, kept in self._memo.items() if key[0] != rule}
        live = self._nodes.live_slots()
        changed = np.zeros(len(live), np.bool_)
        for row, ids in enumerate(self._rows):
            parts = [part for i in ids if (part := self._parts[i]) is not None]
            if all(part.rule != rule for part in parts):
                continue
            said = [self._kind.judge(part.rule, part.pod, live) for part in parts]
            values = self._kind.join(said, len(live))
            changed |= values != self.array[row, live]
            self.array[row, live] = values
            self.uniform[row] = _common(values)
        return live[changed]

    def _patch_live(self, live: SlotArray) -> None:
        """Ask each part once about these slots, and join the answers row by row."""
        said = [
            self._kind.judge(part.rule, part.pod, live) if part is not None else None
            for part in self._parts
        ]
        for row, parts in enumerate(self._rows):
            answers = [answer for part in parts if (answer := said[part]) is not None]
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
        ids = tuple([self._rule_part_ids.get(each, -1) for each in signatures])
        found = self._row_of.get(ids)
        if found is not None:
            return found
        answers = [self._ask(rule, signature, pod) for rule, signature in signatures]
        values = self._kind.join(answers, len(self._live))
        parts = [_RulePart(rule, signature, pod) for rule, signature in signatures]
        row = self._allot_row(parts)
        self.array[row] = 0
        self.array[row, self._live] = values
        self.uniform[row] = _common(values)
        return row

    def _ask(self, rule: int, signature: Hashable, pod: PodClass) -> Values:
        """A rule's answer for all live slots; most rules have few signatures, so it is kept."""
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
        """A row for these parts: a new one while memory allows, else the least recently used."""
        width = max(1, self.array.shape[1]) * self.array.itemsize
        limit = max(MIN_ROWS, self._row_bytes // width)
        if len(self._rows) < limit:
            row = len(self._rows)
            self._rows.append(())
            self._grow_rows_to(len(self._rows))
        else:
            row = 1 + int(self._used_at[1 : len(self._rows)].argmin())
            self._release(row)
        ids = tuple([self._use_rule_part(part) for part in parts])
        self._rows[row] = ids
        self._row_of[ids] = row
        self._clock += 1
        self.serials[row] = self._clock
        return row

    def _grow_rows_to(self, count: int) -> None:
        """Make room for ``count`` rows."""
        missing = count - len(self.array)
        if missing > 0:
            more = max(missing, len(self.array) // 2)
            room = np.zeros((more, self.array.shape[1]), self._kind.dtype)
            self.array = np.concatenate([self.array, room])
            zeros = np.zeros(more, np.int64)
            self.serials = np.concatenate([self.serials, zeros])
            self._used_at = np.concatenate([self._used_at, zeros])
            self.uniform = np.concatenate([self.uniform, zeros.astype(np.int32)])

    def _release(self, row: int) -> None:
        """Forget what a row is for."""
        self.reassigned_rows += 1
        ids = self._rows[row]
        del self._row_of[ids]
        for part in ids:
            self._rule_part_users[part] -= 1
            if self._rule_part_users[part] == 0:
                gone = self._parts[part]
                if gone is not None:
                    del self._rule_part_ids[gone.rule, gone.signature]
                self._parts[part] = None
                self._free_rule_parts.append(part)

    def _use_rule_part(self, part: _RulePart) -> int:
        key = (part.rule, part.signature)
        found = self._rule_part_ids.get(key)
        if found is None:
            if self._free_rule_parts:
                found = self._free_rule_parts.pop()
                self._parts[found] = part
            else:
                found = len(self._parts)
                self._parts.append(part)
                self._rule_part_users.append(0)
            self._rule_part_ids[key] = found
        self._rule_part_users[found] += 1
        return found


def _common(values: Values) -> int:
    """The value that all have, where it is one from 0; -1 for none."""
    first = int(values[0]) if len(values) else 0
    return first if first >= 0 and (values == first).all() else -1
