"""The score formulas at their edges; their equality with the compiled ones is a property."""

import numpy as np
import pytest

from stretto.framework.compiled.amounts import ResourceAmount, amount_score, shape_value, shares
from stretto.framework.compiled.tables import CompiledScore, ScoreCode


def amount(free: int, alloc: int, requested: int = 0) -> ResourceAmount:
    percent = np.float32(100) / np.float32(alloc) if alloc else 0
    return ResourceAmount(np.array([free], np.int32), np.array([percent], np.float32), requested)


@pytest.mark.parametrize(
    ("free", "alloc", "requested", "share"), [(50, 100, 10, 40), (-30, 100, 0, 0), (0, 0, 0, 0)]
)
def test_a_share_is_the_free_percentage_after_placing(
    free: int, alloc: int, requested: int, share: int
) -> None:
    assert shares(amount(free, alloc, requested)).tolist() == [share]


def test_everything_stays_in_single_precision() -> None:
    assert shares(amount(1, 3)).dtype == np.float32
    assert shape_value(((0, 0), (100, 100)), np.array([3], np.float32)).dtype == np.float32


def test_a_shape_holds_its_ends_beyond_its_points() -> None:
    x = np.array([0, 10, 15, 20, 99], np.float32)
    assert shape_value(((10, 40), (20, 80)), x).tolist() == [40, 40, 60, 80, 80]


def test_a_shape_of_one_point_is_flat() -> None:
    assert shape_value(((50, 30),), np.array([0, 100], np.float32)).tolist() == [30, 30]


def test_resources_of_ratio_zero_do_not_count() -> None:
    score = CompiledScore(ScoreCode.RATIO, (4, 5), (1.0, 9.0), ((0, 0), (50, 100), (100, 0)))
    assert amount_score(score, [amount(50, 100), amount(100, 100)]).tolist() == [100]


def test_a_resource_that_no_node_has_is_worth_nothing() -> None:
    for code in (ScoreCode.LEAST, ScoreCode.MOST, ScoreCode.BALANCED):
        score = CompiledScore(code, (4,), (1.0,))
        assert amount_score(score, [amount(0, 0)]).tolist() == [0]


def test_a_score_over_no_resource_is_rejected() -> None:
    with pytest.raises(ValueError, match="at least one resource"):
        amount_score(CompiledScore(ScoreCode.LEAST), [])
