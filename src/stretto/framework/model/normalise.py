"""Scores over the feasible nodes, and how upstream brings them to 0..100 by default."""

from typing import Final

import numpy as np

from stretto.framework.model.status import IntArray

TOP: Final = 100
"""The best score of one plugin."""
LEAST: Final = 23 * 1024 * 1024
"""Bytes below which images are fetched too quickly to matter."""
MOST: Final = 1000 * 1024 * 1024
"""Bytes a container above which more does not matter."""


def at(column: IntArray, nodes: IntArray) -> IntArray:
    """The entries of some nodes; the column itself where it is all of them."""
    return column if len(nodes) == len(column) else column[nodes]


def by_maximum(raw: IntArray, *, reverse: bool = False) -> IntArray:
    """Shares of the largest, in integers; reversed, the largest gets 0 and all 100 if it is 0."""
    largest = int(raw.max(initial=0))
    if largest == 0:
        return np.full(len(raw), TOP, np.int64) if reverse else raw
    scaled = TOP * raw // largest
    return TOP - scaled if reverse else scaled


def bytes_there(there: IntArray, images: int) -> IntArray:
    """0..100 for bytes of so many images that need not be fetched."""
    most = MOST * images
    scores: IntArray = TOP * (np.clip(there, LEAST, most) - LEAST) // (most - LEAST)
    return scores
