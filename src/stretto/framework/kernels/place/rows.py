"""Compiled rows of the class cache: made, patched, and brought up to the log's end.

For profiles with scores that look at each slot for long (devices, fragmentation, shapes): what was
computed is kept slot by slot. Profiles that need no more than amounts, ports, devices and static
rows keep the maxima of blocks alone (``kernels_blocks``).
"""

from typing import Any

import numpy as np
from numba import njit

from stretto.framework.kernels.place.slot_value import slot_value
from stretto.state.rows.slots import BLOCK

_FLAGS: Any = {"error_model": "numpy", "cache": True, "nogil": True}


@njit(**_FLAGS)
def rebuild(classes, static, pair, scores, typical, thresholds, c, state, row, peak):
    """Compute a class's whole row afresh."""
    for b in range(peak.shape[0]):
        top = np.int16(0)
        for s in range(b * BLOCK, (b + 1) * BLOCK):
            row[s] = np.int16(
                slot_value(classes, static, pair, scores, typical, thresholds, c, s, state)
            )
            top = max(top, row[s])
        peak[b] = top


@njit(**_FLAGS)
def _put(row, peak, s, value):
    """Set one slot of a row and keep its block's maximum."""
    old = row[s]
    if value == old:
        return
    row[s] = value
    b = s // BLOCK
    if value > peak[b]:
        peak[b] = value
    elif old == peak[b]:
        peak[b] = _block_top(row, b)


@njit(**_FLAGS)
def _named_again(entries, e):
    """Whether an entry is named again soon: then the later one will do."""
    again = False
    for f in range(e + 1, min(e + 5, entries.shape[0])):
        again = again or entries[f] == entries[e]
    return again


@njit(**_FLAGS)
def _block_top(row, b):
    """The maximum of one block."""
    low = b * BLOCK
    top = np.int16(0)
    for t in range(BLOCK):
        top = max(top, row[low + t])
    return top


@njit(**_FLAGS)
def replay(classes, static, pair, scores, typical, thresholds, c, state, row, peak, entries):
    """Recompute the slots that a stretch of the log names, and the maxima they touch."""
    for e in range(entries.shape[0]):
        if not _named_again(entries, e):
            s = entries[e]
            value = slot_value(classes, static, pair, scores, typical, thresholds, c, s, state)
            _put(row, peak, s, np.int16(value))


@njit(**_FLAGS)
def refresh(program, c, state, cache, log, log_state, limit):  # noqa: ARG001
    """Bring a class's row up to the end of the log; returns its cache entry.

    A slot costs the same in a row as in the log, so a row's length is the break-even; ``limit``
    has no meaning here.
    """
    classes, static, pair, scores, typical, thresholds = program
    k = cache.entry[c]
    head, position = log_state[0] + log_state[1], cache.position[k]
    if position == head:
        return k
    row, peak = cache.row[k], cache.peak[k]
    if position >= log_state[0] and head - position <= row.shape[0]:
        entries = log[position - log_state[0] : log_state[1]]
        replay(classes, static, pair, scores, typical, thresholds, c, state, row, peak, entries)
    else:
        rebuild(classes, static, pair, scores, typical, thresholds, c, state, row, peak)
    cache.position[k] = head
    return k
