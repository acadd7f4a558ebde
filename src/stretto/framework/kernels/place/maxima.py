"""Compiled bounds of blocks and ranges, which a class caches, with inter-pod constraints.

A class keeps an upper bound of the values of each block of 64 slots and of each range of blocks
(the own blocks of a zone and its other blocks), with its position in the log. An update scores the
slots in the log again, and raises the bounds of their blocks. A block is read before one of its
slots is selected; if no slot has the value of the bound, the bound is lowered to the maximum.

Constraints on hosts are part of the bounds; the *stamp* contains their other inputs. Classes with
such constraints score the blocks in the log again. Constraints on other keys apply at each read: to
whole blocks if every block lies in one domain, otherwise to every slot.

``rows`` is the kept rows, or ``None`` for profiles that score a block when they need it; these may
keep ``answers``, those of Python rules (``KeptAnswers``). ``among``
is (table, state, buffers) of the inter-pod constraints, or ``None`` for batches without any.
numba compiles each combination without the branches that it does not need.
"""

from typing import Any

import numpy as np
from numba import njit

from stretto.framework.compiled.tables import TieBreak
from stretto.framework.kernels.affinity.values import by_domain, in_domains, on_hosts
from stretto.framework.kernels.place.block_values import (
    apply_answers,
    block_values,
    narrow_block,
    narrow_value,
    one_value,
    top_of,
    unit_top,
)
from stretto.framework.kernels.place.choose import first_from, ring, take_turn, tied, zone_in_turn
from stretto.framework.kernels.place.python_calls import (
    call_domain_rules,
    combined,
    has_domain_rules,
)
from stretto.framework.kernels.place.rows import word_of
from stretto.state.rows.slots import BLOCK

_FLAGS: Any = {"error_model": "numpy", "cache": True, "nogil": True}
_INTO: Any = {"error_model": "numpy", "cache": True, "nogil": True, "forceinline": True}
_ROTATE, _RANK, _RANDOM = int(TieBreak.ROTATE), int(TieBreak.RANK), int(TieBreak.RANDOM)
FEW = 4
"""Maximum number of log entries per block for which only the logged slots are scored."""
UNSURE = -2
"""Instead of a slot: Python rules must be called before the choice."""
LOWERED = -3
"""Instead of a slot: no slot has the largest bound, and bounds were lowered."""
FROM_BUFFER = -1
"""Instead of a number of keys: the values of all slots are in the buffer of ``weigh``."""


@njit(**_INTO)
def scratch_of(blocks, size, ranges):
    """Return the buffers of one call; ``size`` is 0 if no row buffer is needed.

    Values of a block, blocks to score, visit marks of blocks, previous bounds, sums of a block,
    values of all slots, bounds of blocks and of ranges with other pods, visit marks of slots.
    """
    return (
        np.empty(BLOCK, np.int32),
        np.empty(blocks + 1, np.int32),
        np.zeros(blocks + 1, np.int32),
        np.empty(blocks, np.int16),
        np.zeros(BLOCK, np.int32),
        np.zeros(size, np.int32),
        np.zeros((1, blocks), np.int16),
        np.zeros((1, ranges), np.int16),
        np.zeros(size + 1, np.int32),
    )


@njit(**_INTO)
def values_of(scratch, what, low, classes, static, rates, state, rows, answers, among, hosts):
    """Compute the values of a class on a block, with the constraints on hosts."""
    values = scratch[0]
    k, c, request, narrow, answered, scored = what
    if rows is None:
        weights, unit = rates
        block_values(values, low, state[0], state[1], static.eligible, request, weights, unit)
        if narrow:
            narrow_block(values, low, classes, static, c, state)
    else:
        for j in range(BLOCK):
            values[j] = np.int32(rows[k, low + np.uint64(j)])
    if answers is not None and answered:
        apply_answers(values, low, answers, k, scored)
    if among is not None:
        table, others, buffers = among
        if hosts > 0:
            weights_of_rules = (table.affinity_weight, table.spread_weight)
            on_hosts(
                values, scratch[4], low, buffers[0], hosts, others.pods, table.domain, table.mask,
                weights_of_rules,
            )  # fmt: skip


@njit(**_INTO)
def _top_of_block(scratch, what, low, classes, static, rates, state, rows, answers, among, hosts):
    """Return the maximum of a block."""
    if rows is None and hosts == 0 and rates[1] and not (what[3] or what[4]):
        return unit_top(low, state[0], state[1], static.eligible, what[2])
    values_of(scratch, what, low, classes, static, rates, state, rows, answers, among, hosts)
    return top_of(scratch[0])


@njit(**_INTO)
def _value_at(s, what, classes, static, rates, state, rows, answers):
    """Return the value of a class on one slot, without the inter-pod constraints."""
    k, c, request, narrow, answered, scored = what
    if rows is None:
        weights, unit = rates
        value = one_value(s, state[0], state[1], static.eligible, request, weights, unit)
        if narrow and value > 0:
            value = narrow_value(value, s, classes, static, c, state)
    else:
        value = np.int32(rows[k, s])
    if answers is not None and answered:
        b, bit = s // np.uint64(BLOCK), np.uint64(1) << (s % np.uint64(BLOCK))
        if answers.refused[k, b] & bit != np.uint64(0):
            value = np.int32(0)
        elif scored and value > 0:
            value = np.int32(value + np.int32(answers.score[k, s]))
    return value


@njit(**_INTO)
def _raise_bounds(
    what, classes, static, rates, state, cache, log, first, stop, choice, rows, answers
):
    """Raise the bounds of the blocks with slots in a range of the log."""
    peaks, tops, range_of, k = cache.peak, cache.top, choice.range_of, what[0]
    for e in range(first, stop):
        s = np.uint64(log[e])
        value = _value_at(s, what, classes, static, rates, state, rows, answers)
        b = s // np.uint64(BLOCK)
        if value > peaks[k, b]:
            peaks[k, b] = value
            r = range_of[b]
            tops[k, r] = max(tops[k, r], np.int16(value))


@njit(**_INTO)
def _named_blocks(todo, marks, visit, log, first, stop):
    """List the blocks in a range of the log, each once; return the count."""
    count = 0
    for e in range(first, stop):
        b = log[e] // BLOCK
        if marks[b] != visit:
            marks[b] = visit
            todo[count] = b
            count += 1
    return count


@njit(**_INTO)
def _raise_ranges(peaks, tops, k, todo, count, before, choice):
    """Bring the bounds of ranges up to date with the blocks that were scored again."""
    range_of = choice.range_of
    for i in range(count):
        b = todo[i]
        r = range_of[b]
        if peaks[k, b] > tops[k, r]:
            tops[k, r] = peaks[k, b]
        elif before[i] == tops[k, r] and peaks[k, b] < before[i]:
            tops[k, r] = _top_of_range(peaks, k, r, choice)


@njit(**_INTO)
def _top_of_range(peaks, k, r, choice):
    """Return the largest bound of the blocks of a range."""
    first, members = choice.range_first, choice.range_block
    top = np.int16(0)
    for m in range(first[r], first[r + 1]):
        top = max(top, peaks[k, members[m]])
    return top


@njit(**_INTO)
def catch_up(
    scratch,
    what,
    classes,
    static,
    rates,
    state,
    cache,
    span,
    choice,
    rows,
    answers,
    among,
    hosts,
    rescore,
):
    """Bring the bounds of a class to the end of the log; ``rescore`` scores every block."""
    todo, marks, k = scratch[1], scratch[2], what[0]
    log, begin, length = span
    position = cache.position
    first, blocks = position[k] - begin, cache.peak.shape[1]
    position[k] = begin + length
    every = rescore or first < 0 or length - first > FEW * blocks
    if not every and hosts == 0:
        _raise_bounds(
            what, classes, static, rates, state, cache, log, first, length, choice, rows, answers
        )
        return
    count = blocks
    if not every:
        marks[blocks] += 1
        count = _named_blocks(todo, marks, marks[blocks], log, first, length)
    score_blocks(
        scratch, what, classes, static, rates, state, cache, choice, rows, answers, among, hosts,
        count, every,
    )  # fmt: skip


@njit(**_INTO)
def score_blocks(
    scratch, what, classes, static, rates, state, cache, choice, rows, answers, among, hosts, count,
    every,
):  # fmt: skip
    """Score every block again, or the first ``count`` listed blocks."""
    k, todo, before = what[0], scratch[1], scratch[3]
    peaks, tops, blocks = cache.peak, cache.top, cache.peak.shape[1]
    for i in range(count):
        b = i if every else todo[i]
        low = np.uint64(b * BLOCK)
        before[i] = peaks[k, b]
        peaks[k, b] = _top_of_block(
            scratch, what, low, classes, static, rates, state, rows, answers, among, hosts
        )
    if not every:
        _raise_ranges(peaks, tops, k, todo, count, before, choice)
        return
    range_of = choice.range_of
    tops[k] = 0
    for b in range(blocks):
        tops[k, range_of[b]] = max(tops[k, range_of[b]], peaks[k, b])


@njit(**_FLAGS)
def weigh(
    scratch,
    what,
    classes,
    static,
    rates,
    state,
    cache,
    choice,
    rows,
    answers,
    among,
    hosts,
    rules,
    judged,
):
    """Compute the maxima with the constraints on keys other than hosts and the DOMAIN rules.

    ``rules`` is the Python rules with the scope DOMAIN that apply to the class, else ``None``.
    The result is the number of keys: 0 if the kept bounds are valid, ``FROM_BUFFER`` if the values
    of all slots are in the buffer; otherwise the bounds are in the buffers of ``scratch``.
    """
    raised, tops = scratch[6], scratch[7]
    k, c = what[0], what[1]
    table, others, buffers = among
    keys = buffers[2]
    weighed, even = 0, True
    if judged:
        weighed, even = by_domain(keys, table, others, buffers[1], c)
    by_rules = False
    if rules is not None:
        by_rules = has_domain_rules(rules, c)
    if weighed == 0 and not by_rules:
        return 0
    peaks, range_of = cache.peak, choice.range_of
    blocks = peaks.shape[1]
    for b in range(blocks):
        raised[0, b] = peaks[k, b]
    if even and not by_rules:
        _raise_blocks(raised, keys, weighed, table.block_domain)
    else:
        _fill_buffer(
            scratch, what, classes, static, rates, state, rows, answers, among, hosts, weighed
        )
        if rules is not None and by_rules:
            _apply_domain_rules(scratch, c, rules)
        weighed = FROM_BUFFER
    for r in range(tops.shape[1]):
        tops[0, r] = 0
    for b in range(blocks):
        tops[0, range_of[b]] = max(tops[0, range_of[b]], raised[0, b])
    return weighed


@njit(**_FLAGS)
def _raise_blocks(raised, keys, weighed, block_domain):
    """Apply domains to the bounds of blocks that each lie in one domain."""
    allowed, bonus, base, names = keys
    for n in range(weighed):
        key = names[n]
        first = base[key]
        for b in range(raised.shape[1]):
            d, top = first + block_domain[key, b], np.int32(raised[0, b])
            raised[0, b] = (top + bonus[d]) * np.int32(allowed[d]) * np.int32(top > 0)


@njit(**_FLAGS)
def _fill_buffer(
    scratch, what, classes, static, rates, state, rows, answers, among, hosts, weighed
):
    """Compute the values of all slots with the filters and bonuses of domains."""
    values, buffer, raised = scratch[0], scratch[5], scratch[6]
    table, _, buffers = among
    for b in range(raised.shape[1]):
        if raised[0, b] > 0:
            low = np.uint64(b * BLOCK)
            values_of(
                scratch, what, low, classes, static, rates, state, rows, answers, among, hosts
            )
            in_domains(values, low, buffers[2], weighed, table.domain)
            for j in range(BLOCK):
                buffer[b * BLOCK + j] = values[j]
            raised[0, b] = top_of(values)


@njit(**_FLAGS)
def _apply_domain_rules(scratch, c, rules):
    """Call the Python rules over domains for every feasible slot of the buffer."""
    buffer, raised, slots, count = scratch[5], scratch[6], rules.slots, 0
    for b in range(raised.shape[1]):
        if raised[0, b] > 0:
            for s in range(b * BLOCK, (b + 1) * BLOCK):
                if buffer[s] > 0:
                    slots[count] = s
                    count += 1
            raised[0, b] = 0
    if count == 0:
        return
    call_domain_rules(rules, c, count)
    for i in range(count):
        s = slots[i]
        value = combined(buffer[s], np.int32(rules.answers[i]))
        buffer[s] = value
        raised[0, s // BLOCK] = max(raised[0, s // BLOCK], np.int16(value))


@njit(**_INTO)
def _read_block(
    scratch, what, low, classes, static, rates, state, rows, answers, among, hosts, weighed
):
    """Compute the values of a block with all constraints.

    ``weighed`` is the result of ``weigh``.
    """
    values = scratch[0]
    if among is not None and weighed == FROM_BUFFER:
        for j in range(BLOCK):
            values[j] = scratch[5][low + np.uint64(j)]
        return
    values_of(scratch, what, low, classes, static, rates, state, rows, answers, among, hosts)
    if among is not None:
        in_domains(values, low, among[2][2], weighed, among[0].domain)


@njit(**_INTO)
def _is_unknown(answers, k, s):
    """Return whether a slot changed since the last call of the Python filters of an entry."""
    b, bit = word_of(s)
    return answers.unknown[k, b] & bit != np.uint64(0)


@njit(**_INTO)
def find(
    scratch, what, classes, static, rates, state, cache, choice, draw, peaks, tops, t, rows,
    answers, among, hosts, weighed,
):  # fmt: skip
    """Return the best slot by the tie rule, own partition first; -1 if none is feasible.

    The result is ``UNSURE``, without a change, if the choice depends on unknown results of rules.
    ``peaks[t]`` and ``tops[t]`` are the bounds to use, ``weighed`` the result of ``weigh``.
    """
    found = LOWERED
    while found == LOWERED:
        top, mine, zone = zone_in_turn(tops, t, choice)
        if top == 0:
            return -1
        if choice.pick == _ROTATE:
            found = _in_ring(
                scratch, what, classes, static, rates, state, cache, choice, (top, mine, zone),
                peaks, tops, t, rows, answers, among, hosts, weighed,
            )  # fmt: skip
        else:
            found = _among_ties(
                scratch, what, classes, static, rates, state, cache, choice, draw, (top, mine),
                peaks, tops, t, rows, answers, among, hosts, weighed,
            )  # fmt: skip
    return found


@njit(**_INTO)
def _in_ring(
    scratch, what, classes, static, rates, state, cache, choice, turn, peaks, tops, t, rows,
    answers, among, hosts, weighed,
):  # fmt: skip
    """Return the next slot of a zone with the value of its bound; ``LOWERED`` if none has it.

    The first block of the ring is read again at its end, for the slots before the cursor.
    """
    top, mine, zone = turn
    r, start = 2 * zone + mine, choice.cursor[zone]
    first, last, at = ring(r, start, choice)
    for i in range(last - first + 1):
        m = at + i if at + i < last else at + i - (last - first)
        b = choice.range_block[m]
        if peaks[t, b] != top or not _has_bound(
            scratch, what, b, classes, static, rates, state, cache, choice, top, peaks, t, rows,
            answers, among, hosts, weighed,
        ):  # fmt: skip
            continue
        begin = start % BLOCK if i == 0 and b == start // BLOCK else 0
        found = first_from(scratch[0], top, begin)
        if found >= 0:
            s = b * BLOCK + found
            if answers is not None and what[4] and _is_unknown(answers, what[0], s):
                return UNSURE
            take_turn(choice, zone, s, state[0].shape[1])
            return s
    tops[t, r] = _top_of_range(peaks, t, r, choice)
    return LOWERED


@njit(**_INTO)
def _among_ties(
    scratch, what, classes, static, rates, state, cache, choice, draw, best, peaks, tops, t, rows,
    answers, among, hosts, weighed,
):  # fmt: skip
    """Return the slot of the least rank, or a drawn one; ``LOWERED`` if no slot has the bound."""
    (top, mine), values, todo = best, scratch[0], scratch[1]
    count = tied(todo, peaks, t, top, mine, choice)
    attempts = 2 * count if choice.pick == _RANDOM else count
    found, least, ties, wanted = LOWERED, np.int32(0), np.uint64(0), np.uint64(0)
    for i in range(attempts):
        if i == count:
            if ties == np.uint64(0):
                break
            wanted = draw % ties
        b = todo[i % count]
        if not _has_bound(
            scratch, what, b, classes, static, rates, state, cache, choice, top, peaks, t, rows,
            answers, among, hosts, weighed,
        ):  # fmt: skip
            r = choice.range_of[b]
            tops[t, r] = _top_of_range(peaks, t, r, choice)
            continue
        for j in range(BLOCK):
            if values[j] != top:
                continue
            s = b * BLOCK + j
            if choice.pick == _RANK:
                if found < 0 or choice.rank[s] < least:
                    found, least = s, choice.rank[s]
            elif i < count:
                if answers is not None and what[4] and _is_unknown(answers, what[0], s):
                    return UNSURE
                ties += np.uint64(1)
            elif wanted == np.uint64(0):
                return s
            else:
                wanted -= np.uint64(1)
    if answers is not None and what[4] and found >= 0 and _is_unknown(answers, what[0], found):
        return UNSURE
    return found


@njit(**_INTO)
def _has_bound(
    scratch, what, b, classes, static, rates, state, cache, choice, top, peaks, t, rows, answers,
    among, hosts, weighed,
):  # fmt: skip
    """Read a block; return whether a slot has the value of the bound, else lower the bound."""
    low = np.uint64(b * BLOCK)
    _read_block(
        scratch, what, low, classes, static, rates, state, rows, answers, among, hosts, weighed
    )
    highest = top_of(scratch[0])
    if highest >= top:
        return True
    peaks[t, b] = highest
    if among is not None and weighed > 0:
        values_of(scratch, what, low, classes, static, rates, state, rows, answers, among, hosts)
        r, k = choice.range_of[b], what[0]
        cache.peak[k, b] = top_of(scratch[0])
        cache.top[k, r] = _top_of_range(cache.peak, k, r, choice)
    return False
