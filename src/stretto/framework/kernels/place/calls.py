"""Calls of the compiled place loop from Python: each picks the form of the loop that it needs."""

from typing import Any

import numpy as np
import numpy.typing as npt

from stretto.framework.compiled.domain_tables import InterPodProgram
from stretto.framework.compiled.python_calls import PythonRuleCalls, no_rule_calls
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
    """Place a batch with kept rows; returns how many units were tried."""
    size = cache.row.shape[1]
    others = None if among is None else (among.table, among.state)
    given = program, state, cache, log, log_state, choice, batch, cache.row
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
    rules: PythonRuleCalls | None = None,  # noqa: ARG001  (a plain profile has no Python rule)
) -> int:
    """Place a batch of a plain profile, with the maxima of blocks alone."""
    others = None if among is None else (among.table, among.state)
    logged, rest = (log, log_state), (None, None, others)
    return int(loop.place(program, state, cache, *logged, choice, batch, *rest))


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
    """Bring the row of a class up to date; returns its cache entry."""
    given, size = (program, class_id, state, cache, log, log_state), cache.row.shape[1]
    if rules is None:
        return int(rows.refresh(*given, no_rule_calls(size)))
    try:
        return int(rows.refresh(*given, rules.compiled(np.array([class_id], np.int32), size)))
    finally:
        rules.finish()
