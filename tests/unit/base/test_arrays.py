"""Distinct values equal those of NumPy."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stretto.base.arrays import distinct


@given(st.lists(st.integers(-5, 5)))
def test_distinct_values_are_numpys(values: list[int]) -> None:
    array = np.array(values, np.int64)
    assert distinct(array).tolist() == np.unique(array).tolist()
