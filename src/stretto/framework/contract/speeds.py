"""How fast the CPUs of nodes are: requests mean cores of one reference model.

Rules about measured load count the work of a core, so that nodes of different CPU models compare.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from stretto.base.errors import InputError
from stretto.framework.contract import arguments as read
from stretto.state.nodes.table import NodeFacts

SLOWEST: Final = 0.1
"""Least speed that is accepted: a smaller one is a typing error."""
FASTEST: Final = 10.0
"""Greatest speed that is accepted."""


class CpuSpeeds(NamedTuple):
    """How fast the CPUs of nodes are, by the value of a label such as the CPU model."""

    #: The label.
    label: str
    #: Work of a core per work of a core of the speed 1; 1 for other values.
    factors: Mapping[str, float]

    def on(self, nodes: NodeFacts, slots: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """float64[k]: the speeds of some slots."""
        found, pairs = np.ones(len(slots), np.float64), nodes.labels.column(self.label)
        here = np.where(slots < len(pairs), pairs[np.minimum(slots, len(pairs) - 1)], 0)
        for value, factor in self.factors.items():
            found[here == nodes.labels.pair_id(self.label, value)] = factor
        return found


def read_speeds(given: Any, where: str) -> CpuSpeeds | None:
    """Speeds by a label; ``None`` where none are given.

    Raises:
        InputError: something has the wrong form; the path says where.
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
