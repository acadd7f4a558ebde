"""The compiled placement loop: update a class, select its best slot, charge the slot, repeat.

One loop serves every profile. ``rows`` is the kept rows of the class cache, or ``None`` for *plain*
profiles (amounts, ports, devices and static rows only), which keep the bounds of blocks alone.
A plain profile with Python rules keeps their ``answers`` (``KeptAnswers``), else ``None``.
``among`` is (table, state) of the inter-pod constraints, or ``None`` for batches in which no pod
has or counts for one. ``rules`` is the callback to Python rules, for ``rows`` and ``answers``.

The result equals a full sequential scan, because a value depends only on the class and on the
state of the snapshot, every change of that state is in the log, and a class reads the log to its
end before each choice. Property tests compare the loop with the NumPy tier and with a plain scan.
Arrays are passed as arguments: reading one from a tuple inside a loop costs more than the work.
"""

from typing import Any

import numpy as np
from numba import njit

from stretto.framework.kernels.affinity.values import (
    buffers_of,
    can_stay,
    count,
    limits_of,
    may_recover,
)
from stretto.framework.kernels.borrow import borrowed
from stretto.framework.kernels.place.block_values import (
    block_values,
    is_narrow,
    narrow_block,
    rates_of,
    request_of,
)
from stretto.framework.kernels.place.devices import apply, pick_devices
from stretto.framework.kernels.place.maxima import (
    UNSURE,
    catch_up,
    find,
    scratch_of,
    weigh,
)
from stretto.framework.kernels.place.python_calls import (
    call_domain_rules,
    has_domain_rules,
    has_slot_rules,
    has_slot_scores,
    pinned_value,
)
from stretto.framework.kernels.place.rows import call_unknown, catch_up_answers, catch_up_row
from stretto.framework.kernels.place.slot_value import slot_value
from stretto.state.rows.slots import BLOCK

_FLAGS: Any = {"error_model": "numpy", "cache": True, "nogil": True}
_INTO: Any = {"error_model": "numpy", "cache": True, "nogil": True, "forceinline": True}


@njit(**_INTO)
def _take(classes, static, c, s, state, typical, thresholds, choice, draw):
    """Charge the requests of a class to a slot; return the bit mask of its devices."""
    device = classes.device
    if classes.port_row[c] == 0 and device[c, 0] + device[c, 4] == 0:
        free, column, amount = state[0], classes.column, classes.amount
        for i in range(classes.requests[c]):
            free[column[c, i], s] -= amount[c, i]
        return np.int32(0)
    mask = pick_devices(classes, c, s, state, typical, thresholds, choice.device_pick, draw)
    apply(classes, static, c, s, state, mask, 1)
    return mask


@njit(**_FLAGS)
def _undo(classes, static, state, batch, start, stop, log, log_state, among):
    """Release the places of a unit, the last first."""
    for i in range(stop - 1, start - 1, -1):
        c, s = batch.class_id[i], batch.slot[i]
        if s >= 0:
            apply(classes, static, c, s, state, batch.devices[i], -1)
            if among is not None:
                count(among[0], among[1], c, s, -1)
            log[log_state[1]] = s
            log_state[1] += 1
        batch.slot[i] = -1
        batch.devices[i] = 0


@njit(**_INTO)
def _pinned(scratch, program, state, c, s, rules, among, hosts, judged):
    """Return the slot to which a pod is pinned; -1 if it is not feasible."""
    classes, static, pair, scores, typical, thresholds = program
    value = np.int32(slot_value(classes, static, pair, scores, typical, thresholds, c, s, state))
    if rules is not None:
        value = pinned_value(rules, c, s, value)
    if among is not None:
        table, others, buffers = among
        if value > 0 and judged:
            stays = can_stay(scratch[0], scratch[4], value, c, s, table, others, buffers, hosts)
            value *= np.int32(stays)
        if rules is not None and value > 0 and has_domain_rules(rules, c):
            rules.slots[0] = s
            call_domain_rules(rules, c, 1)
            value *= np.int32(rules.answers[0] >= 0)
    return s if value > 0 else -1


@njit(**_INTO)
def _choose(
    scratch, what, classes, static, rates, state, cache, choice, draw, rows, answers, rules, among,
    hosts, judged,
):  # fmt: skip
    """Return the best slot of a class that is up to date; -1 for none, or ``UNSURE``."""
    k, c = what[0], what[1]
    peaks, tops, t, weighed = cache.peak, cache.top, np.int64(k), 0
    if among is not None:
        concerned = judged
        if rules is not None:
            concerned = judged or has_domain_rules(rules, c)
        if concerned:
            weighed = weigh(
                scratch, what, classes, static, rates, state, cache, choice, rows, answers, among,
                hosts,
                rules, judged,
            )  # fmt: skip
        if weighed != 0:
            peaks, tops, t = scratch[6], scratch[7], np.int64(0)
    return find(
        scratch, what, classes, static, rates, state, cache, choice, draw, peaks, tops, t, rows,
        answers, among, hosts, weighed,
    )  # fmt: skip


@njit(**_INTO)
def _seek(
    scratch, program, rates, state, cache, span, choice, batch, i, rows, answers, rules, among,
):  # fmt: skip
    """Return the slot for one pod; -1 for none."""
    classes, static, pair = program[0], program[1], program[2]
    c, s = batch.class_id[i], batch.pin[i]
    judged, hosts, stamp = False, 0, np.int64(0)
    if among is not None:
        judged = among[0].stop[c] > among[0].start[c]
        if judged:
            hosts, stamp = limits_of(among[2][0], among[2][1], among[0], among[1], c)
    if s >= 0:
        return _pinned(scratch, program, state, c, s, rules, among, hosts, judged)
    k, narrow = cache.entry[c], is_narrow(classes, static, c)
    calls_rules, scored = False, False
    if answers is not None:
        calls_rules = has_slot_rules(rules, c)
        if calls_rules:
            catch_up_answers(c, k, answers, cache.row_position, span, scratch[8], rules)
            scored = has_slot_scores(rules, c)
    what = (k, c, request_of(classes, static, pair, c), narrow, calls_rules, scored)
    if rows is not None:
        row, marks = rows[k], scratch[8]
        catch_up_row(program, c, state, row, k, cache.row_position, span, marks, rules)
    rescore = False
    if among is not None and judged:
        rescore = among[1].stamp[k] != stamp
        among[1].stamp[k] = stamp
    if rescore or cache.position[k] != span[1] + span[2]:
        catch_up(
            scratch, what, classes, static, rates, state, cache, span, choice, rows, answers,
            among, hosts,
            rescore,
        )  # fmt: skip
    draw = batch.draw[i]
    found = _choose(
        scratch, what, classes, static, rates, state, cache, choice, draw, rows, answers, rules,
        among, hosts, judged,
    )  # fmt: skip
    if answers is not None:
        while found == UNSURE:
            call_unknown(c, k, answers, rules)
            found = _choose(
                scratch, what, classes, static, rates, state, cache, choice, draw, rows, answers,
                rules, among, hosts, judged,
            )  # fmt: skip
    return found


@njit(**_FLAGS)
def place(program, state, cache, log, log_state, choice, batch, rows, answers, rules, among):
    """Place a batch of units in order; return the number of tried units.

    ``program`` is (classes, static, pair, scores, typical, thresholds). Results are written to
    ``batch.slot`` and ``batch.devices``. A unit with fewer than ``at_least`` places is undone
    completely; a blocking unit that fails ends the batch. The last four arguments are described
    above; the log must have capacity for two entries per pod.
    """
    blocks, size = cache.peak.shape[1], 0
    if rules is not None:
        size = state[0].shape[1]
    if among is not None:
        size = state[0].shape[1]
    scratch = scratch_of(blocks, size, cache.top.shape[1])
    if among is None:
        return _place(
            program,
            state,
            cache,
            (log, log_state),
            choice,
            batch,
            scratch,
            rows,
            answers,
            rules,
            None,
        )
    views = (among[0], among[1], buffers_of(among[0]))
    return _place(
        program, state, cache, (log, log_state), choice, batch, scratch, rows, answers, rules, views
    )


@njit(**_FLAGS)
def _place(program, state, cache, logged, choice, batch, buffers, rows, answers, rules, among):
    """Run ``place`` with buffers.

    The caller holds all arrays, so that none is reference-counted.
    """
    program, state, cache = borrowed(program), borrowed(state), borrowed(cache)
    choice, batch, scratch = borrowed(choice), borrowed(batch), borrowed(buffers)
    log, log_state = borrowed(logged)
    row_values, rule_answers = borrowed(rows), borrowed(answers)
    calls, others = borrowed(rules), borrowed(among)
    classes, static, pair, _, typical, thresholds = program
    class_id, pin, slot, devices = batch.class_id, batch.pin, batch.slot, batch.devices
    draw, rates, by_rules = batch.draw, rates_of(pair), False
    if rules is not None:
        by_rules = rules.by_domain
    for u in range(batch.at_least.shape[0]):
        start, stop, at_least = batch.start[u], batch.start[u + 1], batch.at_least[u]
        placed, lost, first, go_on = 0, 0, True, True
        while go_on:  # again for pods that other pods of the unit may have made feasible
            failed, before, waiting = -1, placed, False
            for i in range(start, stop):
                c, recovers = class_id[i], False
                if among is not None:
                    recovers = by_rules or may_recover(others[0], c)
                if not first and (slot[i] >= 0 or not recovers):
                    continue
                if stop - start - lost < at_least:
                    break
                s = -1
                if c != failed or pin[i] >= 0:
                    span = (log, log_state[0], log_state[1])
                    s = _seek(
                        scratch, program, rates, state, cache, span, choice, batch, i,
                        row_values, rule_answers, calls, others,
                    )  # fmt: skip
                    failed = c if s < 0 and pin[i] < 0 else failed
                slot[i] = s
                if s < 0:
                    waiting = waiting or recovers
                    lost += not recovers
                    continue
                devices[i] = _take(
                    classes, static, c, s, state, typical, thresholds, choice, draw[i]
                )
                if among is not None:
                    count(others[0], others[1], c, s, 1)
                    if failed >= 0 and (by_rules or may_recover(others[0], failed)):
                        failed = -1
                log[log_state[1]] = s
                log_state[1] += 1
                placed += 1
            first, go_on = False, waiting and placed > before and stop - start - lost >= at_least
        if placed < at_least or (placed == 0 and stop > start):
            _undo(classes, static, state, batch, start, stop, log, log_state, others)
            if batch.blocking[u]:
                return u + 1
    return batch.at_least.shape[0]


@njit(**_FLAGS)
def score_row(program, c, state, row):
    """Write the values of a class of a plain profile into ``row``.

    0 if infeasible, else 1 + score.
    """
    classes, static, pair = program[0], program[1], program[2]
    request, narrow = request_of(classes, static, pair, c), is_narrow(classes, static, c)
    weights, unit = rates_of(pair)
    values = np.empty(BLOCK, np.int32)
    for b in range(row.shape[0] // BLOCK):
        low = np.uint64(b * BLOCK)
        block_values(values, low, state[0], state[1], static.eligible, request, weights, unit)
        if narrow:
            narrow_block(values, low, classes, static, c, state)
        for j in range(BLOCK):
            row[b * BLOCK + j] = values[j]
