"""Calls of the compiled placement loop from Python.

Each function selects the form that it needs.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from stretto.framework.compiled.domain_tables import InterPodProgram
from stretto.framework.compiled.python_calls import (
    SLOT_RULES,
    SLOT_SCORES,
    KeptAnswers,
    PythonRuleCalls,
    no_rule_calls,
)
from stretto.framework.compiled.tables import PodBatch, ScoreCache, SlotChoice
from stretto.framework.kernels.place import loop, rows

Program = tuple[Any, ...]
State = tuple[Any, ...]
Log = npt.NDArray[np.int32]
LogState = npt.NDArray[np.int64]


def place(
    program: Program,
    state: State,
    cache: ScoreCache,
    log: Log,
    log_state: LogState,
    choice: SlotChoice,
    batch: PodBatch,
    limit: int,  # noqa: ARG001  (the NumPy tier's bound on replays)
    among: InterPodProgram | None = None,
    rules: PythonRuleCalls | None = None,
) -> int:
    """Place a batch with kept rows; return the number of tried units."""
    size = cache.row.shape[1]
    others = None if among is None else (among.table, among.state)
    given = program, state, cache, log, log_state, choice, batch, cache.row, None
    if rules is None:
        return int(loop.place(*given, no_rule_calls(size), others))
    try:
        return int(loop.place(*given, rules.compiled(batch.class_id, size), others))
    finally:
        rules.finish()


def place_plain(
    program: Program,
    state: State,
    cache: ScoreCache,
    log: Log,
    log_state: LogState,
    choice: SlotChoice,
    batch: PodBatch,
    limit: int,  # noqa: ARG001
    among: InterPodProgram | None = None,
    rules: PythonRuleCalls | None = None,
) -> int:
    """Place a batch of a plain profile: bounds of blocks, and the results of Python rules."""
    others = None if among is None else (among.table, among.state)
    given = program, state, cache, log, log_state, choice, batch, None
    if rules is None:
        return int(loop.place(*given, None, None, others))
    calls = rules.compiled(batch.class_id, cache.row.shape[1])
    try:
        return int(loop.place(*given, _kept(cache), calls, others))
    finally:
        rules.finish()


def refresh(
    program: Program,
    class_id: int,
    state: State,
    cache: ScoreCache,
    log: Log,
    log_state: LogState,
    limit: int,  # noqa: ARG001
    rules: PythonRuleCalls | None = None,
) -> int:
    """Bring the row of a class up to date; return its cache entry."""
    given, size = (program, class_id, state, cache, log, log_state), cache.row.shape[1]
    if rules is None:
        return int(rows.refresh(*given, no_rule_calls(size)))
    try:
        return int(rows.refresh(*given, rules.compiled(np.array([class_id], np.int32), size)))
    finally:
        rules.finish()


def plain_row(
    program: Program,
    class_id: int,
    state: State,
    cache: ScoreCache,
    log: Log,
    log_state: LogState,
    rules: PythonRuleCalls | None = None,
) -> npt.NDArray[np.int16]:
    """Return int16[slot]: the recomputed values of a class of a plain profile."""
    row = np.empty(state[0].shape[1], np.int16)
    loop.score_row(program, class_id, state, row)
    if rules is None:
        return row
    calls = rules.compiled(np.array([class_id], np.int32), len(row))
    if not calls.concerned[class_id] & SLOT_RULES:
        return row
    kept = _kept(cache)
    try:
        entry = rows.refresh_answers(class_id, cache, kept, log, log_state, calls)
    finally:
        rules.finish()
    words = kept.refused[entry].view(np.uint8)
    allowed = (row > 0) & (np.unpackbits(words, bitorder="little") == 0)
    more = kept.score[entry] if calls.concerned[class_id] & SLOT_SCORES else 0
    return np.where(allowed, row + more, 0).astype(np.int16)


def _kept(cache: ScoreCache) -> KeptAnswers:
    """Return the results of Python rules in the class cache of a plain profile."""
    return KeptAnswers(cache.row, cache.unknown, cache.refused)
