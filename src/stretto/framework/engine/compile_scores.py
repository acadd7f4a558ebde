"""Compiles score rules into tables for the kernels.

A rule with a compiled form declares a code and its constants; this module turns the rules and
weights of a profile into the two tables that kernels read. Scores that depend on CPU and memory
alone are fused into one pass (``PairScore``), because nearly every profile has only such scores.
All others are stored in ``ScoreTable``, in the order of the profile. Rules without a compiled form
are not handled here.
"""

from collections.abc import Collection, Sequence
from math import frexp
from typing import Final

import numpy as np

from stretto.base.errors import InputError
from stretto.framework.compiled.tables import (
    NOTHING,
    SCORE_COLUMNS,
    SHAPE_POINTS,
    CompiledScore,
    PairScore,
    ScoreCode,
    ScoreTable,
)
from stretto.framework.contract.rule import Scope, ScoreRule
from stretto.framework.engine.derived import DerivedFilter, compiled_form
from stretto.state.rows.resources import CPU, MEMORY, ResourceColumns

PAIR: Final = 2
"""Number of columns of a pair."""
HALF: Final = 0.5
"""Mantissa of a power of two."""
_LINEAR: Final = (ScoreCode.LEAST, ScoreCode.MOST, ScoreCode.BALANCED)
"""Scores that a pair can contain."""
Weighed = tuple[CompiledScore, int]
"""A compiled score and its weight in the profile."""


def compile_scores(
    rules: Sequence[tuple[ScoreRule, int]],
    resources: ResourceColumns,
    derived: DerivedFilter | None = None,
) -> tuple[PairScore, ScoreTable]:
    """Tables of a profile's slot-local scores with a compiled form.

    Raises:
        InputError: a score has more columns or points than the tables.
    """
    weighed: list[Weighed] = []
    for rule, weight in rules:
        score = compiled_form(rule, resources, derived) if rule.SCOPE is Scope.SLOT else None
        if score is None or score == NOTHING or weight == 0:
            continue
        if len(score.columns) > SCORE_COLUMNS:
            raise InputError(rule.NAME, len(score.columns), f"at most {SCORE_COLUMNS} resources")
        if len(score.shape) > SHAPE_POINTS:
            raise InputError(rule.NAME, len(score.shape), f"at most {SHAPE_POINTS} shape points")
        weighed.append((score, weight))
    columns = () if derived is None else derived.columns.columns.tolist()
    fused = _fusable(weighed, columns)
    rest = [each for each in weighed if each not in fused]
    return _pair(fused, idle=bool(rest)), _table(rest)


def _fusable(weighed: Sequence[Weighed], derived: Collection[int]) -> list[Weighed]:
    """Scores over CPU and memory alone with the same column weights, if these matter.

    If there are none, this is the mean of two derived columns. A node has both or none of them.
    Therefore a pair gives the same bits as the mean over any columns if the sum of the weights is a
    power of two.
    """
    found: list[Weighed] = []
    column_weights: tuple[float, ...] | None = None
    for score, weight in weighed:
        if score.code not in _LINEAR or sorted(score.columns) != [CPU, MEMORY]:
            continue
        if score.code is not ScoreCode.BALANCED:
            mine = _in_order(score)
            if column_weights not in (None, mine):
                continue
            column_weights = mine
        found.append((score, weight))
    return found or [each for each in weighed if _is_derived_pair(each[0], derived)][:1]


def _is_derived_pair(score: CompiledScore, derived: Collection[int]) -> bool:
    """True if a score is the mean of two derived columns, with weights that a pair can have."""
    return (
        score.code is ScoreCode.LEAST
        and len(score.columns) == PAIR
        and set(score.columns) <= set(derived)
        and frexp(sum(score.column_weights))[0] == HALF
    )


def _in_order(score: CompiledScore) -> tuple[float, ...]:
    """Column weights in the order of the columns."""
    pairs = sorted(zip(score.columns, score.column_weights, strict=True))
    return tuple(weight for _, weight in pairs)


def _pair(fused: Sequence[Weighed], *, idle: bool) -> PairScore:
    """The fused scores; disabled if no score can be fused and other scores exist.

    Without any score they stay enabled with weights of zero, so that the kernel builds rows in one
    pass.
    """
    weight = dict.fromkeys(_LINEAR, 0)
    first, second = (0.0, 0.0) if idle and not fused else (1.0, 1.0)
    columns = sorted(fused[0][0].columns) if fused else [CPU, MEMORY]
    for score, w in fused:
        weight[score.code] += w
        if score.code is not ScoreCode.BALANCED:
            first, second = _in_order(score)
    return PairScore(
        first=np.int32(columns[0]),
        second=np.int32(columns[1]),
        first_weight=np.float32(first),
        second_weight=np.float32(second),
        least=np.int32(weight[ScoreCode.LEAST]),
        most=np.int32(weight[ScoreCode.MOST]),
        balanced=np.int32(weight[ScoreCode.BALANCED]),
    )


def _table(weighed: Sequence[Weighed]) -> ScoreTable:
    """The scores that are computed one by one."""
    count = len(weighed)
    table = ScoreTable(
        code=np.zeros(count, np.int32),
        weight=np.zeros(count, np.int32),
        columns=np.zeros(count, np.int32),
        column=np.zeros((count, SCORE_COLUMNS), np.int32),
        column_weight=np.zeros((count, SCORE_COLUMNS), np.float32),
        points=np.zeros(count, np.int32),
        shape_x=np.zeros((count, SHAPE_POINTS), np.float32),
        shape_y=np.zeros((count, SHAPE_POINTS), np.float32),
    )
    for o, (score, weight) in enumerate(weighed):
        width, points = len(score.columns), len(score.shape)
        table.code[o], table.weight[o] = score.code, weight
        table.columns[o], table.points[o] = width, points
        table.column[o, :width] = score.columns
        table.column_weight[o, :width] = score.column_weights
        if points:
            table.shape_x[o, :points], table.shape_y[o, :points] = zip(*score.shape, strict=True)
    return table
