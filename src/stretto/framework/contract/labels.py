"""Node labels as arrays, for authors of rules.

Each distinct value is parsed once, independent of the number of nodes.
"""

import numpy as np
import numpy.typing as npt

from stretto.framework.contract.rule import SlotArray, View


def label_numbers(
    view: View, key: str, slots: SlotArray, default: float = 0.0
) -> npt.NDArray[np.float64]:
    """float64[k]: a label as a number; ``default`` where it is absent or not a number."""
    ids = view.nodes.labels.column(key)[slots]
    pairs, which = np.unique(ids, return_inverse=True)
    read = [_number(view.nodes.labels.pair_value(p), default) if p else default for p in pairs]
    return np.array(read, np.float64)[which] if read else np.zeros(0, np.float64)


def label_domains(view: View, key: str) -> npt.NDArray[np.int64]:
    """int64[slot]: number of the label value; equal values have equal numbers, 0 means no label.

    Use it with ``np.bincount(domains, weights=...)``: sums by rack, zone or power circuit.
    """
    _, which = np.unique(view.nodes.labels.column(key), return_inverse=True)
    return (which + (0 if (view.nodes.labels.column(key) == 0).any() else 1)).astype(np.int64)


def _number(text: str, default: float) -> float:
    try:
        value = float(text)
    except ValueError:
        return default
    return value if np.isfinite(value) else default
