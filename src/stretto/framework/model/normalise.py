"""Scores over the feasible nodes, and upstream's default normalisation to 0..100."""

from typing import Final

import numpy as np

from stretto.framework.model.status import IntArray

TOP: Final = 100
"""The best score of one plugin."""


def at(column: IntArray, nodes: IntArray) -> IntArray:
    """The entries of some nodes; the column itself if it is all of them."""
    return column if len(nodes) == len(column) else column[nodes]


def by_maximum(raw: IntArray, *, reverse: bool = False) -> IntArray:
    """Integer shares of the maximum.

    With ``reverse``, the maximum gets 0, and all get 100 if it is 0.
    """
    largest = int(raw.max(initial=0))
    if largest == 0:
        return np.full(len(raw), TOP, np.int64) if reverse else raw
    scaled = TOP * raw // largest
    return TOP - scaled if reverse else scaled
