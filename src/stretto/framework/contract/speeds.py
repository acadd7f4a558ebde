"""CPU speeds of nodes: requests mean cores of one reference model.

Rules about measured load count the work of a core, so that nodes with different CPU models are
comparable.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from stretto.base.errors import InputError
from stretto.framework.contract import arguments as read
from stretto.state.nodes.table import NodeFacts

SLOWEST: Final = 0.1
"""Lowest allowed speed: a lower one is a typing error."""
FASTEST: Final = 10.0
"""Highest allowed speed."""


class CpuSpeeds(NamedTuple):
    """CPU speeds of nodes, by the value of a label such as the CPU model."""

    #: The label.
    label: str
    #: Work of a core relative to a core of speed 1, by label value; 1 for other values.
    factors: Mapping[str, float]

    def on(self, nodes: NodeFacts, slots: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """float64[k]: the speeds of some slots."""
        found, pairs = np.ones(len(slots), np.float64), nodes.labels.column(self.label)
        here = np.where(slots < len(pairs), pairs[np.minimum(slots, len(pairs) - 1)], 0)
        for value, factor in self.factors.items():
            found[here == nodes.labels.pair_id(self.label, value)] = factor
        return found


def read_speeds(given: Any, where: str) -> CpuSpeeds | None:
    """Read speeds by a label; ``None`` if none are given.

    Raises:
        InputError: a value has the wrong form; the message contains its path.
    """
    if given is None:
        return None
    fields = read.mapping(given, ("label", "factors"), where)
    label = read.text(fields.get("label"), f"{where}.label")
    factors = fields.get("factors")
    if not isinstance(factors, Mapping) or not factors:
        raise InputError(f"{where}.factors", factors, "a factor for each value of the label")
    return CpuSpeeds(
        label,
        {
            str(value): read.number(factor, SLOWEST, FASTEST, f"{where}.factors.{value}")
            for value, factor in factors.items()
        },
    )
