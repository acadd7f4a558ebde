"""The compiled search for victims of many identical preemptors.

The kernel keeps the cost of a preemption on each node in a tournament tree. After it assigns a node
to a preemptor, it evaluates only that node and the nodes under a newly exhausted budget again, and
replays their matches. The next preemptor therefore costs as many comparisons as the tree has
levels.
"""

from typing import Any, Final

import numpy as np
from numba import njit

from stretto.framework.compiled.one_node import VictimCandidate
from stretto.framework.kernels.borrow import borrowed
from stretto.framework.kernels.numpy.victims import (
    DOUBTFUL,
    HARMLESS,
    SPENT,
    VictimDemand,
    VictimIndex,
    VictimSearchLimits,
)
from stretto.framework.kernels.victims.search import NO_TOP, better, walk, walk_irregular

_FLAGS: Any = {"error_model": "numpy", "cache": True, "nogil": True}
_HARMLESS, _SPENT, _DOUBTFUL = np.uint8(HARMLESS), np.uint8(SPENT), np.uint8(DOUBTFUL)


@njit(**_FLAGS)
def _search_node(entries, free, requests, what, s, scratch, budgets):
    """Return the cost of the preemptor on a slot.

    (key, victims, claims that lose their capacity).
    """
    columns, need, priority, admitted = what
    capacity, taken, marks = scratch
    left, set_first, set_items, standing, hard = budgets
    nothing = (np.int64(0), NO_TOP, np.int64(0), np.int64(0), 0.0)
    if not admitted[s]:
        return nothing, -1, 0
    if not entries[1][s]:
        key, number = walk(
            entries, free, requests, columns, need, s, priority, capacity, taken, standing
        )  # fmt: skip
        if number >= 0 or (hard and number == -1):
            return key, number, 0
    return walk_irregular(
        entries, free, requests, columns, need, s, priority, capacity, taken, left,
        (set_first, set_items), hard, marks,
    )  # fmt: skip


@njit(**_FLAGS)
def _cost_of(entries, free, requests, what, s, scratch, budgets, kept):
    """Store the cost of the preemptor on a slot."""
    violations, top, total, count, start, works = kept
    key, number, _ = _search_node(entries, free, requests, what, s, scratch, budgets)
    works[s] = number >= 0
    violations[s], top[s], total[s], count[s], start[s] = key


@njit(**_FLAGS)
def _better_of(kept, one, other):
    """Return the better of two slots, the first on a tie; -1 is no slot."""
    violations, top, total, count, start, _ = kept
    if one < 0 or other < 0:
        return max(one, other)
    mine = (violations[one], top[one], total[one], count[one], start[one])
    theirs = (violations[other], top[other], total[other], count[other], start[other])
    return other if better(theirs, mine) else one


@njit(**_FLAGS)
def _replay_matches(kept, rounds):
    """Build the tournament: ``rounds[k]`` is the winner of its two children, ``[1]`` of all."""
    half, works = rounds.shape[0] // 2, kept[5]
    for s in range(works.shape[0]):
        rounds[half + s] = s if works[s] else -1
    for k in range(half - 1, 0, -1):
        rounds[k] = _better_of(kept, rounds[2 * k], rounds[2 * k + 1])


@njit(**_FLAGS)
def _replay_match(kept, rounds, s):
    """Replay the matches of a slot, as far up as the winner may change."""
    k = rounds.shape[0] // 2 + s
    rounds[k] = s if kept[5][s] else -1
    while k > 1:
        k //= 2
        before = rounds[k]
        rounds[k] = _better_of(kept, rounds[2 * k], rounds[2 * k + 1])
        if before != s and rounds[k] == before:
            break


@njit(**_FLAGS)
def _remove(entries, sums, requests, s, at, counted):
    """Remove an evicted entry and free its resources."""
    free, below, safe, edges = sums
    count = entries[0][s]
    a, kind, priority = entries[5][s, at], entries[6][s, at], entries[3][s, at]
    band = np.searchsorted(edges, np.int64(priority)) if kind == 0 else 0
    entries[1][s] -= kind != 0
    apart = counted.shape[0] > 0 and counted[entries[7][s, at]]
    for c in range(free.shape[0]):
        amount = requests[a, c]
        if amount:
            free[c, s] += amount
            for b in range(band, below.shape[0]):
                below[b, c, s] -= amount
                if apart:
                    safe[b, c, s] -= amount
    for k in range(at, count - 1):
        entries[2][s, k] = entries[2][s, k + 1]
        entries[3][s, k] = entries[3][s, k + 1]
        entries[4][s, k] = entries[4][s, k + 1]
        entries[5][s, k] = entries[5][s, k + 1]
        entries[6][s, k] = entries[6][s, k + 1]
        entries[7][s, k] = entries[7][s, k + 1]
    entries[0][s] = count - 1


@njit(**_FLAGS)
def _slots_of_sets(length, budget, sets):
    """Return the slots by set of budgets, as (first, slots).

    A slot appears once for each of its pods.
    """
    first = np.zeros(sets + 1, np.int64)
    for s in range(length.shape[0]):
        for k in range(length[s]):
            if budget[s, k]:
                first[budget[s, k] + 1] += 1
    for n in range(sets):
        first[n + 1] += first[n]
    slots = np.zeros(first[sets], np.int32)
    at = first.copy()
    for s in range(length.shape[0]):
        for k in range(length[s]):
            if budget[s, k]:
                slots[at[budget[s, k]]] = s
                at[budget[s, k]] += 1
    return first, slots


@njit(**_FLAGS)
def _spend(number, budgets, most, changed):
    """Count the eviction of a pod of a set; mark the sets that change state in ``changed``."""
    left, first, items, standing, _ = budgets
    for i in range(first[number], first[number + 1]):
        left[items[i]] -= 1
    for n in range(standing.shape[0]):
        before, now = standing[n], _HARMLESS
        for i in range(first[n], first[n + 1]):
            if left[items[i]] <= 0:
                now = _SPENT
            elif left[items[i]] < most[items[i]] and now == _HARMLESS:
                now = _DOUBTFUL
        standing[n] = now
        changed[n] |= now != before or now == _DOUBTFUL


@njit(**_FLAGS)
def find_many(entries, sums, requests, what, budgets, known, size, answers):
    """Assign nodes to identical preemptors in order; return the number of assigned ones.

    ``known`` are (the most pods of each budget on a slot, sets that the safe sums count).
    ``answers`` are (slots, victims that violate a budget, victims, the start of each one's rows,
    the rows: claims that lose their capacity follow the victims). A row ``r`` that violates a
    budget is encoded as ``-1 - r``. The index reflects the result.
    """
    width = entries[2].shape[1]
    columns = what[0]
    scratch = (
        np.zeros(columns.shape[0], np.int64), np.zeros(width, np.int32), np.zeros(width, np.uint8),
    )  # fmt: skip
    kept = (
        np.zeros(size, np.int64), np.zeros(size, np.int64), np.zeros(size, np.int64),
        np.zeros(size, np.int64), np.zeros(size), np.zeros(size, np.uint8),
    )  # fmt: skip
    sets = budgets[3].shape[0]
    where = _slots_of_sets(entries[0], entries[7], sets)
    half = 1
    while half < size:
        half *= 2
    marks = (
        np.full(2 * half, -1, np.int32), np.zeros(sets, np.uint8),
        np.zeros(1 + where[1].shape[0], np.int32),
    )  # fmt: skip
    return _find_many(
        entries, sums, requests, what, budgets, known, answers, scratch, kept, where, marks
    )


@njit(**_FLAGS)
def _find_many(entries, sums, requests, what, budgets, known, answers, scratch, kept, where, marks):
    """Run ``find_many`` with buffers.

    The caller holds all arrays, so that none is reference-counted.
    """
    entries, sums, requests, known = borrowed((entries, sums, requests, known))
    columns, need, priority, admitted = what
    what = (borrowed(columns), borrowed(need), priority, borrowed(admitted))
    scratch, kept, where = borrowed(scratch), borrowed(kept), borrowed(where)
    rounds, changed, todo = borrowed(marks)
    left, set_first, set_items, standing, hard = budgets
    budgets = (
        borrowed(left), borrowed(set_first), borrowed(set_items), borrowed(standing), hard,
    )  # fmt: skip
    out_slot, out_broken, out_number, out_start, out_rows = borrowed(answers)
    taken, at, done = scratch[1], 0, 0
    for s in range(kept[5].shape[0]):
        _cost_of(entries, sums[0], requests, what, s, scratch, budgets, kept)
    _replay_matches(kept, rounds)
    while done < out_slot.shape[0] and rounds[1] >= 0:
        s = np.int64(rounds[1])
        key, number, lost = _search_node(entries, sums[0], requests, what, s, scratch, budgets)
        if at + number + lost > out_rows.shape[0]:
            break
        out_slot[done], out_start[done] = s, at
        out_number[done], out_broken[done] = number, key[0]
        for v in range(number + lost):
            row = np.int64(entries[2][s, taken[v]])
            out_rows[at + v] = row if v >= key[0] else -1 - row
        _by_position(taken, out_rows, at, number)
        at += number + lost
        done += 1
        chosen = (taken, number + lost)
        touched = _give(entries, sums, requests, what, s, chosen, budgets, known, changed)
        todo[0] = s
        for i in range(_again(where, changed, todo) if touched else 1):
            s = np.int64(todo[i])
            _cost_of(entries, sums[0], requests, what, s, scratch, budgets, kept)
            _replay_match(kept, rounds, s)
    out_start[done] = at
    return done


@njit(**_FLAGS)
def _again(where, changed, todo):
    """Add the slots of the changed sets to the slot to evaluate; return the number of slots."""
    first, slots = where
    length = 1
    for n in range(changed.shape[0]):
        if changed[n]:
            changed[n] = 0
            for i in range(first[n], first[n + 1]):
                todo[length] = slots[i]
                length += 1
    return length


@njit(**_FLAGS)
def _by_position(taken, rows, at, number):
    """Sort the rows of victims by importance, which is their position."""
    for i in range(1, number):
        position, row, k = taken[i], rows[at + i], i
        while k > 0 and taken[k - 1] > position:
            taken[k], rows[at + k] = taken[k - 1], rows[at + k - 1]
            k -= 1
        taken[k], rows[at + k] = position, row


@njit(**_FLAGS)
def _sort(values, count):
    """Sort the first few of some numbers, which mostly are in order."""
    for i in range(1, count):
        value, k = values[i], i
        while k > 0 and values[k - 1] > value:
            values[k] = values[k - 1]
            k -= 1
        values[k] = value


@njit(**_FLAGS)
def _give(entries, sums, requests, what, s, chosen, budgets, known, changed):
    """Evict the victims of a slot and charge the preemptor; return whether a budget changed."""
    columns, need = what[0], what[1]
    most, counted = known
    touched = False
    taken, number = chosen
    _sort(taken, number)
    for v in range(number - 1, -1, -1):
        held = entries[7][s, taken[v]]
        _remove(entries, sums, requests, s, taken[v], counted)
        if held:
            _spend(held, budgets, most, changed)
            touched = True
    for j in range(columns.shape[0]):
        sums[0][columns[j], s] -= need[j]
    return touched


def search_many(
    index: VictimIndex, wanted: VictimDemand, limits: VictimSearchLimits, known: Any, count: int
) -> list[VictimCandidate]:
    """Return nodes for identical preemptors, each found after the previous one is assigned.

    The index reflects the assignments: it no longer has the victims. ``known`` are the most pods of
    each budget on a slot, and the sets that the safe sums count.
    """
    if not wanted.bands:
        return []
    entries, sums = index.entries, index.sums
    first, items = limits.arrays
    slots, broken, numbers = (np.zeros(count, np.int64) for _ in range(3))
    starts = np.zeros(count + 1, np.int64)
    rows = np.zeros(64 * count + entries.row.shape[1], np.int64)
    done = find_many(
        tuple(entries),
        tuple(sums),
        index.requests,
        (wanted.columns, wanted.need, wanted.priority, wanted.admitted),
        (limits.left.copy(), first, items, limits.standing.copy(), limits.hard),
        known,
        len(wanted.admitted),
        (slots, broken, numbers, starts, rows),
    )
    flat, places = rows[: starts[done]].tolist(), starts[: done + 1].tolist()
    middles = (starts[:done] + numbers[:done]).tolist()
    found = zip(slots[:done].tolist(), places, middles, places[1:], strict=False)
    made = [
        VictimCandidate(slot, tuple(flat[start:middle]), _NO_ROWS, tuple(flat[middle:last]), 0)
        for slot, start, middle, last in found
    ]
    for at in np.flatnonzero(broken[:done]).tolist():
        made[at] = _exceeds_budgets(made[at])
    return made


def _exceeds_budgets(coded: VictimCandidate) -> VictimCandidate:
    """Decode a candidate; a victim ``r`` that violates a budget is encoded as ``-1 - r``."""
    return coded._replace(
        victims=tuple(row if row >= 0 else -1 - row for row in coded.victims),
        beyond=frozenset(-1 - row for row in coded.victims if row < 0),
    )


_NO_ROWS: Final[frozenset[int]] = frozenset()
