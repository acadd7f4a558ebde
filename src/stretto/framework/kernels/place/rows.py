"""Compiled rows of the class cache: the value of every slot for a class, kept up to date.

For profiles with expensive scores per slot (devices, fragmentation, shapes). Other profiles keep
the maxima of blocks alone and score a block again when they need it (``maxima``); where they have
Python rules, the row of a class holds the answers of these rules.
"""

from typing import Any

import numpy as np
from numba import njit

from stretto.framework.compiled.python_calls import REFUSED, UNKNOWN
from stretto.framework.kernels.place.python_calls import (
    call_slot_rules,
    combined,
    has_slot_rules,
    has_slot_scores,
)
from stretto.framework.kernels.place.slot_value import slot_value

_FLAGS: Any = {"error_model": "numpy", "cache": True, "nogil": True}


@njit(**_FLAGS)
def _named_slots(slots, marks, log, first, stop):
    """List the slots that a stretch of the log names, each once; returns the count."""
    last = marks.shape[0] - 1
    marks[last] += 1
    visit, count = marks[last], 0
    for e in range(first, stop):
        s = log[e]
        if marks[s] != visit:
            marks[s] = visit
            slots[count] = s
            count += 1
    return count


@njit(**_FLAGS)
def _listed_slots(slots, size, marks, k, row_position, span):
    """List the slots to score again for an entry, and move its position; returns the count.

    Those that the log names, or every slot where the log does not reach back that far or names more
    slots than there are. ``span`` is (log, position of its first entry, entries).
    """
    log, begin, length = span
    first = row_position[k] - begin
    row_position[k] = begin + length
    if first < 0 or length - first > size:
        for s in range(size):
            slots[s] = s
        return size
    return _named_slots(slots, marks, log, first, length)


@njit(**_FLAGS)
def catch_up_answers(c, row, k, row_position, span, marks, rules):
    """Bring the answers of the Python rules for a class to the end of the log.

    Scores are evaluated at once, for all slots that changed. Filters are evaluated when a choice
    falls on such a slot (``call_unknown``). Until then it counts as allowed, which bounds its
    value.
    """
    if row_position[k] == span[1] + span[2]:
        return
    count = _listed_slots(rules.slots, row.shape[0], marks, k, row_position, span)
    if has_slot_scores(rules, c):
        call_slot_rules(rules, c, count)
        for i in range(count):
            row[rules.slots[i]] = rules.answers[i]
    else:
        for i in range(count):
            row[rules.slots[i]] = np.int16(UNKNOWN)


@njit(**_FLAGS)
def call_unknown(c, row, rules):
    """Call the Python rules for every slot with an unknown answer; returns the number of slots.

    The slots stay in the buffer of ``rules``.
    """
    slots, count = rules.slots, 0
    for s in range(row.shape[0]):
        if row[s] == UNKNOWN:
            slots[count] = s
            count += 1
    if count > 0:
        call_slot_rules(rules, c, count)
        for i in range(count):
            row[slots[i]] = rules.answers[i]
    return count


@njit(**_FLAGS)
def refresh_answers(c, cache, log, log_state, rules):
    """Bring the answers of the Python rules for a class up to date; returns its cache entry."""
    k = cache.entry[c]
    row = cache.row[k]
    marks = np.zeros(row.shape[0] + 1, np.int32)
    span = (log, log_state[0], log_state[1])
    catch_up_answers(c, row, k, cache.row_position, span, marks, rules)
    count = call_unknown(c, row, rules)
    for i in range(count):
        if row[rules.slots[i]] == REFUSED:
            cache.position[k] = -1  # the maxima counted this slot as allowed
    return k


@njit(**_FLAGS)
def catch_up_row(program, c, state, row, k, row_position, span, marks, rules):
    """Bring the row of a class to the end of the log; Python rules judge all slots in one call.

    ``span`` is (log, position of its first entry, entries), ``marks`` int32[slot + 1].
    """
    classes, static, pair, scores, typical, thresholds = program
    if row_position[k] == span[1] + span[2]:
        return
    slots = rules.slots
    count = _listed_slots(slots, row.shape[0], marks, k, row_position, span)
    calls_rules = has_slot_rules(rules, c)
    if calls_rules:
        call_slot_rules(rules, c, count)
    for i in range(count):
        s = slots[i]
        value = np.int32(
            slot_value(classes, static, pair, scores, typical, thresholds, c, s, state)
        )
        if calls_rules:
            value = combined(value, np.int32(rules.answers[i]))
        row[s] = np.int16(value)


@njit(**_FLAGS)
def refresh(program, c, state, cache, log, log_state, rules):
    """Bring the row of a class to the end of the log; returns its cache entry."""
    k = cache.entry[c]
    row = cache.row[k]
    marks = np.zeros(row.shape[0] + 1, np.int32)
    span = (log, log_state[0], log_state[1])
    catch_up_row(program, c, state, row, k, cache.row_position, span, marks, rules)
    return k
