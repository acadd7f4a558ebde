"""Labels of all nodes, stored compactly and fast to query.

Each distinct (key, value) pair is interned to a number, its pair id. A node keeps only the sorted
ids of its labels: 20,000 nodes with 15 labels need a few MB. The column of a key (the pair id by
slot, 0 where the node lacks the key) is created when a selector first uses the key and patched from
then on, so keys that no selector uses cost nothing. Pair ids differ between keys, so a column's
entries also serve as domain numbers.
"""

from array import array
from collections.abc import Iterable, Mapping
from typing import Final

import numpy as np
import numpy.typing as npt

from stretto.api.wire.selectors import Operator, SelectorRule, integer

SlotArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
IdArray = npt.NDArray[np.int32]

COLUMN_LIMIT: Final = 1024
"""Maximum number of columns; the least recently used is dropped (and can be rebuilt)."""
SWEEP_FLOOR: Final = 1 << 16
"""Number of pairs below which pairs of removed nodes are not dropped, such as host names."""
FEW: Final = 8
"""Number of values up to which pairwise comparison is faster than a set lookup."""
INT64: Final = np.iinfo(np.int64)

_NO_LABELS: Final = array("i")


class _LabelPairs(dict[tuple[str, str], int]):
    """Ids of pairs, assigned at first use; 0 means "no label"."""

    def __init__(self) -> None:
        super().__init__()
        #: Pairs by id.
        self.names: list[tuple[str, str]] = [("", "")]
        #: Key number by pair id; -1 for none.
        self.key_of: array[int] = array("i", [-1])
        #: Key numbers by key.
        self.keys_seen: dict[str, int] = {}

    def __missing__(self, pair: tuple[str, str]) -> int:
        self[pair] = found = len(self.names)
        self.names.append(pair)
        self.key_of.append(self.keys_seen.setdefault(pair[0], len(self.keys_seen)))
        return found


class LabelColumns:
    """Label columns of all slots."""

    def __init__(self) -> None:
        """Start without slots."""
        #: Incremented when pair ids are renumbered: ids read from a column earlier are invalid.
        self.epoch: int = 0
        self._pairs = _LabelPairs()
        self._cells: list[array[int]] = []
        self._columns: dict[str, IdArray] = {}
        self._low: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        self._high: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        self._sweep_at = SWEEP_FLOOR

    @property
    def size(self) -> int:
        """Number of slots."""
        return len(self._cells)

    @property
    def keys(self) -> frozenset[str]:
        """Keys that any node has ever had."""
        return frozenset(self._pairs.keys_seen)

    @property
    def columns(self) -> Iterable[IdArray]:
        """The columns that exist, in no particular order."""
        return self._columns.values()

    def grow(self, size: int) -> None:
        """Grow to ``size`` slots."""
        missing = size - self.size
        if missing <= 0:
            return
        self._cells.extend([_NO_LABELS] * missing)
        more = np.zeros(missing, np.int32)
        for key, column in self._columns.items():
            self._columns[key] = np.concatenate([column, more])

    def put(self, slot: int, labels: Mapping[str, str]) -> bool:
        """Set a slot's labels; return whether they changed."""
        if len(self._pairs.names) > self._sweep_at:
            self._sweep()
        cells = array("i", sorted(map(self._pairs.__getitem__, labels.items())))
        if cells == self._cells[slot]:
            return False
        self._cells[slot] = cells
        for key, column in self._columns.items():
            value = labels.get(key)
            column[slot] = 0 if value is None else self._pairs[key, value]
        return True

    def remove(self, slot: int) -> None:
        """Remove a slot's labels."""
        self._cells[slot] = _NO_LABELS
        for column in self._columns.values():
            column[slot] = 0

    def of(self, slot: int) -> dict[str, str]:
        """A slot's labels as a new dictionary."""
        names = self._pairs.names
        return dict(names[pair] for pair in self._cells[slot])

    def value(self, slot: int, key: str) -> str | None:
        """One label of a slot; ``None`` if the node lacks it."""
        names = self._pairs.names
        return next((names[p][1] for p in self._cells[slot] if names[p][0] == key), None)

    def pair_id(self, key: str, value: str) -> int:
        """Id of a pair as stored in columns; -1 if no node has had it."""
        return self._pairs.get((key, value), -1)

    def pair_value(self, pair: int) -> str:
        """Value of a pair id."""
        return self._pairs.names[pair][1]

    def column(self, key: str) -> IdArray:
        """int32[slot]: pair id of a key, 0 where the node lacks the key. Read-only."""
        found = self._columns.pop(key, None)
        if found is None:
            number = self._pairs.keys_seen.get(key)
            if number is None:
                return np.zeros(self.size, np.int32)
            found = self._gather(number)
            if len(self._columns) >= COLUMN_LIMIT:
                del self._columns[next(iter(self._columns))]
        self._columns[key] = found
        return found

    def equal(self, key: str, value: str, slots: SlotArray) -> BoolArray:
        """bool[k]: slots whose label has exactly this value."""
        mask: BoolArray = self.column(key)[slots] == self.pair_id(key, value)
        return mask

    def holds(self, rule: SelectorRule, slots: SlotArray) -> BoolArray:
        """bool[k]: slots that match a rule; a missing key matches only the two negations."""
        ids = self.column(rule.key)[slots]
        present: BoolArray = ids != 0
        if rule.operator is Operator.EXISTS:
            return present
        if rule.operator is Operator.DOES_NOT_EXIST:
            return ~present
        if rule.operator is Operator.IN:
            return self._among(ids, rule)
        if rule.operator is Operator.NOT_IN:
            return ~self._among(ids, rule)
        return self._compared(ids, rule)

    def all_match(self, rules: Iterable[SelectorRule], slots: SlotArray) -> BoolArray:
        """bool[k]: slots that match every rule."""
        mask = np.ones(len(slots), np.bool_)
        for rule in rules:
            mask &= self.holds(rule, slots)
        return mask

    def _among(self, ids: IdArray, rule: SelectorRule) -> BoolArray:
        """bool[k]: true where the value is one of the rule's values."""
        known = [p for value in rule.values if (p := self.pair_id(rule.key, value)) > 0]
        if len(known) > FEW:
            return np.isin(ids, np.array(known, np.int32))
        mask = np.zeros(len(ids), np.bool_)
        for pair in known:
            mask |= ids == pair
        return mask

    def _compared(self, ids: IdArray, rule: SelectorRule) -> BoolArray:
        """bool[k]: true where the value is an integer that satisfies Gt or Lt."""
        self._read_integers()
        limit = integer(rule.values[0])
        if limit is None:
            return np.zeros(len(ids), np.bool_)
        greater = rule.operator is Operator.GT
        mask: BoolArray = self._low[ids] > limit if greater else self._high[ids] < limit
        return mask

    def _read_integers(self) -> None:
        """Parse the pairs added since the last call as integers.

        Non-integers sort below everything for Gt and above everything for Lt.
        """
        names, known = self._pairs.names, len(self._low)
        if known == len(names):
            return
        read = [integer(value) for _, value in names[known:]]
        low = np.array([INT64.min if number is None else number for number in read], np.int64)
        high = np.array([INT64.max if number is None else number for number in read], np.int64)
        self._low = np.concatenate([self._low, low])
        self._high = np.concatenate([self._high, high])

    def _flat(self) -> IdArray:
        """The pair ids of all slots, concatenated in slot order."""
        return np.frombuffer(b"".join(self._cells), np.int32)

    def _gather(self, key_number: int) -> IdArray:
        """Build the column of a key from the nodes' labels."""
        flat = self._flat()
        lengths = np.fromiter(map(len, self._cells), np.int64, self.size)
        mine = np.frombuffer(self._pairs.key_of, np.int32)[flat] == key_number
        column = np.zeros(self.size, np.int32)
        column[np.repeat(np.arange(self.size), lengths)[mine]] = flat[mine]
        return column

    def _sweep(self) -> None:
        """Drop pairs that no node has any more, if most are unused: names of removed nodes."""
        live = np.unique(self._flat())
        if 2 * len(live) < len(self._pairs.names):
            self._renumber(live)
        self._sweep_at = max(SWEEP_FLOOR, 2 * len(self._pairs.names))

    def _renumber(self, live: IdArray) -> None:
        """Assign new ids to the live pairs, in the old order."""
        old = self._pairs.names
        self._pairs = _LabelPairs()
        new_ids = np.zeros(len(old), np.int32)
        new_ids[live] = [self._pairs[old[pair]] for pair in live.tolist()]
        for slot, cells in enumerate(self._cells):
            if cells:
                self._cells[slot] = array("i", new_ids[cells].tolist())
        self._columns = {key: new_ids[column] for key, column in self._columns.items()}
        self._low = self._high = np.zeros(0, np.int64)
        self.epoch += 1
