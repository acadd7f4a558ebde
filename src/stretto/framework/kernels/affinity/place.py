"""Compiled placing where pods matter to other pods, for plain profiles.

What ``kernels_blocks`` does, with constraints between pods (``kernels_between``). Those on hosts
are part of the maxima that are kept, with a stamp of what else they follow from. Those on other
keys are asked at each visit: they act on whole blocks where each block lies in one domain, and on
every slot otherwise. A batch in which no pod wants or counts anything never comes here.

Held to ``domains.formulas`` and to the rules themselves by property tests.
"""

from typing import Any

import numpy as np
from numba import njit

from stretto.framework.compiled.tables import TieBreak
from stretto.framework.kernels.affinity.values import (
    buffers_of,
    by_domain,
    can_stay,
    count,
    in_domains,
    limits_of,
    may_recover,
    on_hosts,
)
from stretto.framework.kernels.borrow import borrowed
from stretto.framework.kernels.place.block_values import (
    ask_of,
    block_values,
    is_narrow,
    narrow_block,
    rates_of,
    top_of,
)
from stretto.framework.kernels.place.blocks import (
    FEW,
    _first_from,
    _named_blocks,
    _ring,
    _take,
    _take_turn,
    _tied,
    _zone_in_turn,
)
from stretto.framework.kernels.place.blocks import _catch_up as catch_up_alone
from stretto.framework.kernels.place.blocks import _find as find_alone
from stretto.framework.kernels.place.blocks import _scratch as scratch_of
from stretto.framework.kernels.place.loop import apply
from stretto.framework.kernels.place.slot_value import slot_value
from stretto.state.rows.slots import BLOCK

_FLAGS: Any = {"error_model": "numpy", "cache": True, "nogil": True}
_INTO: Any = {"error_model": "numpy", "cache": True, "nogil": True, "forceinline": True}
_ROTATE, _RANK, _RANDOM = int(TieBreak.ROTATE), int(TieBreak.RANK), int(TieBreak.RANDOM)


# ---------------------------------------------------------------- maxima and the choice


@njit(**_INTO)
def _values(scratch, what, low, classes, static, rates, state, among):
    """A class's values on a block, hosts' constraints worked in."""
    values, sums = scratch[0], scratch[4]
    _, c, ask, narrow = what
    weights, unit = rates
    table, others, buffers, hosts = among
    block_values(values, low, state[0], state[1], static.eligible, ask, weights, unit)
    if narrow:
        narrow_block(values, low, classes, static, c, state)
    if hosts > 0:
        own = (table.affinity_weight, table.spread_weight)
        rows = buffers[0]
        on_hosts(values, sums, low, rows, hosts, others.pods, table.domain, table.mask, own)


@njit(**_FLAGS)
def _catch_up(scratch, what, classes, static, rates, state, cache, logged, among, stamp):
    """Bring a class's maxima to the end of the log, or make them anew for another stamp."""
    values, todo, marks = scratch[0], scratch[1], scratch[2]
    k = what[0]
    log, begin, length = logged
    stamps = among[1].stamp
    peaks, position = cache.peak, cache.position
    first, count = position[k] - begin, peaks.shape[1]
    every = first < 0 or length - first > FEW * count or stamps[k] != stamp
    stamps[k] = stamp
    position[k] = begin + length
    if not every:
        marks[count] += 1
        count = _named_blocks(todo, marks, marks[count], log, first, length)
    for i in range(count):
        b = i if every else todo[i]
        _values(scratch, what, np.uint64(b * BLOCK), classes, static, rates, state, among)
        peaks[k, b] = top_of(values)


@njit(**_FLAGS)
def _weigh(scratch, what, classes, static, rates, state, cache, choice, among):
    """Maxima of blocks and ranges with what domains say; how many keys, and whether blocks did."""
    values, row, raised, tops = scratch[0], scratch[5], scratch[6], scratch[7]
    k, c = what[0], what[1]
    table, others, buffers, _ = among
    keys = buffers[2]
    allowed, bonus, base, asked = keys
    count_of_keys, even = by_domain(keys, table, others, buffers[1], c)
    peaks, range_of, block_domain = cache.peak, choice.range_of, table.block_domain
    blocks = peaks.shape[1]
    for b in range(blocks):
        raised[0, b] = peaks[k, b]
    for n in range(count_of_keys):
        if not even:
            break
        key = asked[n]
        first = base[key]
        for b in range(blocks):
            d, top = first + block_domain[key, b], np.int32(raised[0, b])
            raised[0, b] = (top + bonus[d]) * np.int32(allowed[d]) * np.int32(top > 0)
    if not even:
        for b in range(blocks):
            if raised[0, b] > 0:
                low = np.uint64(b * BLOCK)
                _values(scratch, what, low, classes, static, rates, state, among)
                in_domains(values, low, keys, count_of_keys, table.domain)
                for j in range(BLOCK):
                    row[b * BLOCK + j] = values[j]
                raised[0, b] = top_of(values)
    for r in range(tops.shape[1]):
        tops[0, r] = 0
    for b in range(blocks):
        tops[0, range_of[b]] = max(tops[0, range_of[b]], raised[0, b])
    return count_of_keys, even


@njit(**_FLAGS)
def _find(scratch, what, classes, static, rates, state, cache, choice, draw, among):
    """The best slot by the tie rule, own partition first; -1 when nothing is feasible."""
    values, todo, row, raised, tops = scratch[0], scratch[1], scratch[5], scratch[6], scratch[7]
    keys, domain = among[2][2], among[0].domain
    asked, even = _weigh(scratch, what, classes, static, rates, state, cache, choice, among)
    top, mine, zone = _zone_in_turn(tops, 0, choice)
    if top == 0:
        return -1
    start = np.int64(0)
    if choice.pick == _ROTATE:
        start = choice.cursor[zone]
        count = _ring(todo, raised, 0, top, 2 * zone + mine, start, choice)
    else:
        count = _tied(todo, raised, 0, top, mine, choice)
    looks = 2 * count if choice.pick == _RANDOM else count
    best, least, ties, wanted = -1, np.int32(0), np.uint64(0), np.uint64(0)
    for i in range(looks):
        b = todo[i % count]
        low = np.uint64(b * BLOCK)
        if even:
            _values(scratch, what, low, classes, static, rates, state, among)
            in_domains(values, low, keys, asked, domain)
        else:
            for j in range(BLOCK):
                values[j] = row[b * BLOCK + j]
        if choice.pick == _ROTATE:
            begin = start % BLOCK if i == 0 and b == start // BLOCK else 0
            found = _first_from(values, top, begin)
            if found >= 0:
                _take_turn(choice, zone, b * BLOCK + found, state[0].shape[1])
                return b * BLOCK + found
            continue
        if i == count:
            wanted = draw % ties
        for j in range(BLOCK):
            if values[j] != top:
                continue
            s = b * BLOCK + j
            if choice.pick == _RANK:
                if best < 0 or choice.rank[s] < least:
                    best, least = s, choice.rank[s]
            elif i < count:
                ties += np.uint64(1)
            elif wanted == np.uint64(0):
                return s
            else:
                wanted -= np.uint64(1)
    return best


# ---------------------------------------------------------------- placing


@njit(**_INTO)
def _seek(
    scratch, classes, static, pair, scores, typical, thresholds, rates, state, cache, span, choice,
    batch, i, table, others, buffers,
):  # fmt: skip
    """The slot for one pod; -1 for none."""
    c, s = batch.class_id[i], batch.pin[i]
    judged = table.stop[c] > table.start[c]
    hosts, stamp = 0, np.int64(0)
    if judged:
        hosts, stamp = limits_of(buffers[0], buffers[1], table, others, c)
    if s >= 0:
        value = slot_value(classes, static, pair, scores, typical, thresholds, c, s, state)
        if value > 0 and judged:
            values, sums = scratch[0], scratch[4]
            value *= can_stay(values, sums, value, c, s, table, others, buffers, hosts)
        return s if value > 0 else -1
    k, position = cache.entry[c], cache.position
    what = (k, c, ask_of(classes, static, pair, c), is_narrow(classes, static, c))
    behind = position[k] != span[1] + span[2]
    if judged:
        among = (table, others, buffers, hosts)
        if behind or others.stamp[k] != stamp:
            _catch_up(scratch, what, classes, static, rates, state, cache, span, among, stamp)
        return _find(
            scratch, what, classes, static, rates, state, cache, choice, batch.draw[i], among
        )
    four = (scratch[0], scratch[1], scratch[2], scratch[3])
    if behind:
        catch_up_alone(four, what, classes, static, rates, state, cache, span, choice)
    return find_alone(four, what, classes, static, rates, state, cache, choice, batch.draw[i])


@njit(**_FLAGS)
def _undo(classes, static, state, batch, start, stop, log, log_state, table, others):
    """Take a unit's places back, the last first."""
    for i in range(stop - 1, start - 1, -1):
        c, s = batch.class_id[i], batch.slot[i]
        if s >= 0:
            apply(classes, static, c, s, state, batch.devices[i], -1)
            count(table, others, c, s, -1)
            log[log_state[1]] = s
            log_state[1] += 1
        batch.slot[i] = -1
        batch.devices[i] = 0


@njit(**_FLAGS)
def place(program, state, cache, log, log_state, choice, batch, table, others):
    """Place a batch of units in order; returns how many units were tried.

    As ``kernels_blocks.place``, with what classes want of other pods (``DomainTable``,
    ``DomainState``).
    """
    count_of_blocks, size = cache.peak.shape[1], state[0].shape[1]
    four = scratch_of(count_of_blocks)
    scratch = (
        four[0],
        four[1],
        four[2],
        four[3],
        np.zeros(BLOCK, np.int32),
        np.zeros(size, np.int32),
        np.zeros((1, count_of_blocks), np.int16),
        np.zeros((1, cache.top.shape[1]), np.int16),
    )
    lent = (table, others, buffers_of(table))
    return _place(program, state, cache, (log, log_state), choice, batch, scratch, lent)


@njit(**_FLAGS)
def _place(program, state, cache, logged, choice, batch, own, lent):
    """``place`` with buffers: whoever calls holds every array, so none is counted in here."""
    state, cache, choice, batch = borrowed((state, cache, choice, batch))
    scratch, (log, log_state) = borrowed(own), borrowed(logged)
    table, others, buffers = borrowed(lent)
    classes, static, pair, scores, typical, thresholds = borrowed(program)
    class_id, slot, devices = batch.class_id, batch.slot, batch.devices
    draw, rates = batch.draw, rates_of(pair)
    for u in range(batch.at_least.shape[0]):
        start, stop, at_least = batch.start[u], batch.start[u + 1], batch.at_least[u]
        placed, lost, first, go_on = 0, 0, True, True
        while go_on:  # once more for pods that others of the unit may have made room for
            failed, before, waiting = -1, placed, False
            for i in range(start, stop):
                c, recovers = class_id[i], may_recover(table, class_id[i])
                if not first and (slot[i] >= 0 or not recovers):
                    continue
                if stop - start - lost < at_least:
                    break
                s = -1
                if c != failed or batch.pin[i] >= 0:
                    s = _seek(
                        scratch, classes, static, pair, scores, typical, thresholds, rates, state,
                        cache, (log, log_state[0], log_state[1]), choice, batch, i, table, others,
                        buffers,
                    )  # fmt: skip
                    failed = c if s < 0 and batch.pin[i] < 0 else failed
                slot[i] = s
                if s < 0:
                    waiting = waiting or recovers
                    lost += not recovers
                    continue
                devices[i] = _take(
                    classes, static, c, s, state, typical, thresholds, choice, draw[i]
                )
                count(table, others, c, s, 1)
                if failed >= 0 and may_recover(table, failed):
                    failed = -1
                log[log_state[1]] = s
                log_state[1] += 1
                placed += 1
            first, go_on = False, waiting and placed > before and stop - start - lost >= at_least
        if placed < at_least or (placed == 0 and stop > start):
            _undo(classes, static, state, batch, start, stop, log, log_state, table, others)
            if batch.blocking[u]:
                return u + 1
    return batch.at_least.shape[0]
