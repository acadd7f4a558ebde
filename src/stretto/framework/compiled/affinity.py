"""Effect of inter-pod constraints on a row of scores, in NumPy.

The formulas use integers. They are the NumPy tier and the reference for the compiled kernels. A
score is absolute: it does not depend on the set of feasible nodes. The score of a host depends only
on the pods of the host, so that it can be cached; the score of another domain is relative to the
emptiest domain.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stretto.framework.compiled.domain_tables import (
    CAP,
    NO_TALLY,
    ConstraintKind,
    DomainState,
    DomainTable,
)

Ints = npt.NDArray[np.int64]
Slots = npt.NDArray[np.int64]


class DomainConstraint(NamedTuple):
    """One constraint of a class as a row of the table."""

    #: Kind of the constraint.
    kind: ConstraintKind
    #: Tally, or ``NO_TALLY``.
    tally: int
    #: Key.
    key: int
    #: See ``DomainTable``.
    first: int
    #: See ``DomainTable``.
    second: int
    #: See ``DomainTable``.
    third: int


def is_judged(table: DomainTable, class_id: int) -> bool:
    """Return whether a class has any constraint."""
    return bool(table.stop[class_id] > table.start[class_id])


def constraints_of(table: DomainTable, class_id: int) -> list[DomainConstraint]:
    """Return the constraints of a class, in order."""
    span = slice(int(table.start[class_id]), int(table.stop[class_id]))
    columns = (table.kind, table.tally, table.key, table.first, table.second, table.third)
    rows = zip(*(column[span].tolist() for column in columns), strict=True)
    return [DomainConstraint(ConstraintKind(kind), *rest) for kind, *rest in rows]


def may_recover(table: DomainTable, class_id: int) -> bool:
    """Return whether a class that fits nowhere may fit after other pods are placed."""
    span = slice(int(table.start[class_id]), int(table.stop[class_id]))
    return bool(np.isin(table.kind[span], (ConstraintKind.NEAR, ConstraintKind.HARD)).any())


def count(table: DomainTable, state: DomainState, class_id: int, slot: int, sign: int) -> None:
    """Count a pod of a class that is added to a slot (1) or removed (-1)."""
    first, last = int(table.counted_start[class_id]), int(table.counted_stop[class_id])
    for population in table.counted[first:last].tolist():
        before = int(state.pods[population, slot])
        state.pods[population, slot] = before + sign
        tally = int(table.tally_first[population])
        while tally >= 0:
            key, offset = int(table.tally_key[tally]), int(table.tally_offset[tally])
            domain = int(table.domain[key, slot])
            if domain and table.mask[table.tally_mask[tally], slot]:
                state.total[tally] += sign
                if table.is_host[key]:
                    state.sums[offset + min(max(before, 0), CAP - 1)] -= 1
                    state.sums[offset + min(max(before + sign, 0), CAP - 1)] += 1
                else:
                    state.sums[offset + domain] += sign
            tally = int(table.tally_next[tally])


def overlay(
    table: DomainTable, state: DomainState, class_id: int, row: npt.NDArray[np.int16], slots: Slots
) -> npt.NDArray[np.int16]:
    """Return the scores of a class on some slots with inter-pod constraints; 0 if refused."""
    constraints = constraints_of(table, class_id)
    total = row.astype(np.int64)
    passes = total > 0
    may_be_first = _may_be_first(state, constraints)
    for each in constraints:
        passes &= _passes(table, state, each, slots, may_be_first=may_be_first)
    total += bonus(table, state, constraints, slots)
    return np.where(passes, total, 0).astype(np.int16)


def allows(table: DomainTable, state: DomainState, class_id: int, slot: int) -> bool:
    """Return whether inter-pod constraints admit a class to a slot."""
    constraints, slots = constraints_of(table, class_id), np.array([slot], np.int64)
    first = _may_be_first(state, constraints)
    return all(_passes(table, state, each, slots, may_be_first=first).all() for each in constraints)


def bonus(
    table: DomainTable, state: DomainState, constraints: list[DomainConstraint], slots: Slots
) -> Ints:
    """Return int64[k]: weighted scores of the soft constraints."""
    total = np.zeros(len(slots), np.int64)
    for each in constraints:
        if each.kind is ConstraintKind.SOFT:
            total += table.spread_weight * (_soft(table, state, each, slots) // each.second)
    preferred = [each for each in constraints if each.kind is ConstraintKind.PREFERRED]
    for key in dict.fromkeys(each.key for each in preferred):
        mine = [each for each in preferred if each.key == key]
        part = _preferred(table, state, mine, slots)
        total += table.affinity_weight * (part * mine[0].second // mine[0].third)
    return total


def _passes(
    table: DomainTable,
    state: DomainState,
    each: DomainConstraint,
    slots: Slots,
    *,
    may_be_first: bool,
) -> npt.NDArray[np.bool_]:
    """Return bool[k]: True if a constraint admits the class."""
    domain = table.domain[each.key, slots]
    if each.kind is ConstraintKind.NEVER:
        return np.zeros(len(slots), np.bool_)
    if each.kind is ConstraintKind.NEAR:
        return np.asarray((domain > 0) & ((pods_at(table, state, each, slots) > 0) | may_be_first))
    if each.kind is ConstraintKind.FAR:
        return np.asarray((domain == 0) | (pods_at(table, state, each, slots) <= 0))
    if each.kind is ConstraintKind.HARD:
        limit = each.first + least(table, state, each) - each.second
        return np.asarray((domain > 0) & (pods_at(table, state, each, slots) <= limit))
    return np.ones(len(slots), np.bool_)


def pods_at(table: DomainTable, state: DomainState, each: DomainConstraint, slots: Slots) -> Ints:
    """Return int64[k]: pods of a constraint's tally in the domains of some slots.

    0 without a label.
    """
    if each.tally == NO_TALLY:
        return np.zeros(len(slots), np.int64)
    domain = table.domain[each.key, slots]
    if table.is_host[each.key]:
        inside = (domain > 0) & (table.mask[table.tally_mask[each.tally], slots] > 0)
        count = state.pods[table.tally_population[each.tally], slots].astype(np.int64)
        return np.where(inside, count, 0)
    sums = state.sums[table.tally_offset[each.tally] + domain].astype(np.int64)
    return np.where(domain > 0, sums, 0)


def least(table: DomainTable, state: DomainState, each: DomainConstraint) -> int:
    """Return the minimum count of a hard constraint's domains; 0 if there are too few domains."""
    if each.tally == NO_TALLY or state.present[each.tally] < each.third:
        return 0
    return lowest(table, state, each)


def lowest(table: DomainTable, state: DomainState, each: DomainConstraint) -> int:
    """Return the minimum count of the domains with a counted node; 0 without such domains."""
    if each.tally == NO_TALLY or state.present[each.tally] == 0:
        return 0
    sums, nodes = _span(table, state, each)
    if table.is_host[each.key]:
        return int(np.flatnonzero(sums)[0])
    return int(sums[nodes > 0].min())


def _may_be_first(state: DomainState, constraints: list[DomainConstraint]) -> bool:
    """True if required affinity is waived: no pod matches yet, and the pod matches itself."""
    near = [each for each in constraints if each.kind is ConstraintKind.NEAR]
    return bool(near) and near[0].first > 0 and all(state.total[c.tally] == 0 for c in near)


def _soft(table: DomainTable, state: DomainState, each: DomainConstraint, slots: Slots) -> Ints:
    """Return int64[k]: 0..100, higher for fewer pods."""
    above = soft_counts(table, state, each, slots)
    if not table.is_host[each.key]:
        above = np.maximum(above - lowest(table, state, each), 0)
    there = table.domain[each.key, slots] > 0
    return np.where(there, 100 * each.first // (each.first + above), 0)


def soft_counts(
    table: DomainTable, state: DomainState, each: DomainConstraint, slots: Slots
) -> Ints:
    """Return int64[k]: pods for a soft constraint; pods on hosts count on every node."""
    if each.tally != NO_TALLY and table.is_host[each.key]:
        return np.asarray(state.pods[table.tally_population[each.tally], slots], np.int64)
    return pods_at(table, state, each, slots)


def _preferred(
    table: DomainTable, state: DomainState, preferred: list[DomainConstraint], slots: Slots
) -> Ints:
    """Return int64[k]: 0..100, the score of the preferred terms of one key."""
    key, largest = preferred[0].key, preferred[0].second
    if table.is_host[key]:
        total = sum(w.first * pods_at(table, state, w, slots) for w in preferred)
        total = np.asarray(total, np.int64)
        size = np.abs(total)
        return np.asarray(50 + np.sign(total) * (100 * size // (2 * size + largest)))
    by_domain = np.zeros(int(table.domains[key]), np.int64)
    present = np.zeros(len(by_domain), np.bool_)
    for each in preferred:
        sums, nodes = _span(table, state, each)
        by_domain += each.first * sums[: len(by_domain)].astype(np.int64)
        present |= nodes[: len(by_domain)] > 0
    low = int(by_domain[present].min()) if present.any() else 0
    above = np.maximum(by_domain - low, 0)
    scores = 200 * above // (2 * above + largest)
    return np.asarray(scores[table.domain[key, slots]])


def _span(
    table: DomainTable, state: DomainState, each: DomainConstraint
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Return the sums of a tally by domain (or its histogram), and the counted nodes by domain."""
    first = int(table.tally_offset[each.tally])
    if table.is_host[each.key]:
        return state.sums[first : first + CAP], state.nodes[:0]
    size = int(table.domains[each.key])
    return state.sums[first : first + size], state.nodes[first : first + size]
