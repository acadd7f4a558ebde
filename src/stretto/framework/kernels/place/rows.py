"""Compiled rows of the class cache: the value of every slot for a class, kept up to date.

For profiles with expensive scores per slot (devices, fragmentation, shapes). Other profiles keep
only the bounds of blocks and score a block again when they need it (``maxima``); if they have
Python rules, they also keep the results of these rules (``KeptAnswers``).
"""

from typing import Any

import numpy as np
from numba import njit
from numba.cpython.unsafe.numbers import trailing_zeros

from stretto.framework.compiled.python_calls import REFUSED
from stretto.framework.kernels.place.python_calls import (
    call_slot_rules,
    combined,
    has_slot_rules,
    has_slot_scores,
)
from stretto.framework.kernels.place.slot_value import slot_value
from stretto.state.rows.slots import BLOCK

_FLAGS: Any = {"error_model": "numpy", "cache": True, "nogil": True}
_INTO: Any = {"error_model": "numpy", "cache": True, "nogil": True, "forceinline": True}
EVERY: Any = np.uint64(0xFFFF_FFFF_FFFF_FFFF)
"""Word of a block with the bits of all slots set."""


@njit(**_INTO)
def word_of(s):
    """Return the block of a slot, and the bit of the slot in its word."""
    return s // BLOCK, np.uint64(1) << np.uint64(s % BLOCK)


@njit(**_FLAGS)
def _named_slots(slots, marks, log, first, stop):
    """List the slots in a range of the log, each once; return the count."""
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
    """List the slots to score again for an entry, and move its position; return the count.

    The slots are those in the log; or all slots, if the log does not reach back to the position of
    the entry or is longer than the number of slots. ``span`` is (log, position of its first entry,
    entries).
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
def catch_up_answers(c, k, answers, row_position, span, marks, rules):
    """Bring the results of the Python rules for a class to the end of the log.

    Scores are evaluated at once, for all changed slots. Filters are evaluated when a choice depends
    on such a slot (``call_unknown``). Until then the slot counts as allowed, which bounds its
    value.
    """
    if row_position[k] == span[1] + span[2]:
        return
    if has_slot_scores(rules, c):
        size = answers.score.shape[1]
        count = _listed_slots(rules.slots, size, marks, k, row_position, span)
        call_slot_rules(rules, c, count)
        _keep_scores(answers.score, k, rules, count)
        _keep_refusals(answers.refused, k, rules, count)
    else:
        _forget(answers, k, row_position, span)


@njit(**_FLAGS)
def _forget(answers, k, row_position, span):
    """Mark the slots in the log as unknown to the filters; all slots if the log is too short."""
    unknown, refused = answers.unknown, answers.refused
    log, begin, length = span
    first = row_position[k] - begin
    row_position[k] = begin + length
    if first < 0 or length - first > answers.score.shape[1]:
        for b in range(unknown.shape[1]):
            unknown[k, b] = EVERY
            refused[k, b] = np.uint64(0)
        return
    for e in range(first, length):
        b, bit = word_of(log[e])
        unknown[k, b] |= bit
        refused[k, b] &= ~bit


@njit(**_FLAGS)
def _keep_scores(score, k, rules, count):
    """Keep the sums of the scores of the first ``count`` slots of the buffer."""
    for i in range(count):
        score[k, rules.slots[i]] = max(rules.answers[i], np.int16(0))


@njit(**_FLAGS)
def _keep_refusals(refused, k, rules, count):
    """Record the refused slots among the first ``count`` slots of the buffer."""
    for i in range(count):
        b, bit = word_of(rules.slots[i])
        if rules.answers[i] == REFUSED:
            refused[k, b] |= bit
        else:
            refused[k, b] &= ~bit


@njit(**_FLAGS)
def call_unknown(c, k, answers, rules):
    """Call the Python rules for all slots with an unknown result; return the number of slots.

    The slots and their results stay in the buffers of ``rules``.
    """
    unknown, slots, count = answers.unknown, rules.slots, 0
    for b in range(unknown.shape[1]):
        word = unknown[k, b]
        unknown[k, b] = np.uint64(0)
        while word != np.uint64(0):
            slots[count] = b * BLOCK + np.int64(trailing_zeros(word))
            count += 1
            word &= word - np.uint64(1)
    if count > 0:
        call_slot_rules(rules, c, count)
        _keep_refusals(answers.refused, k, rules, count)
    return count


@njit(**_FLAGS)
def refresh_answers(c, cache, answers, log, log_state, rules):
    """Bring the results of the Python rules for a class up to date; return its cache entry."""
    k = cache.entry[c]
    marks = np.zeros(answers.score.shape[1] + 1, np.int32)
    span = (log, log_state[0], log_state[1])
    catch_up_answers(c, k, answers, cache.row_position, span, marks, rules)
    call_unknown(c, k, answers, rules)
    return k


@njit(**_FLAGS)
def catch_up_row(program, c, state, row, k, row_position, span, marks, rules):
    """Bring the row of a class to the end of the log; Python rules score all slots in one call.

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
    """Bring the row of a class to the end of the log; return its cache entry."""
    k = cache.entry[c]
    row = cache.row[k]
    marks = np.zeros(row.shape[0] + 1, np.int32)
    span = (log, log_state[0], log_state[1])
    catch_up_row(program, c, state, row, k, cache.row_position, span, marks, rules)
    return k
