"""ImageLocality: nodes that have the pod's images, large ones that many nodes have above all."""

from typing import ClassVar, Final

import numpy as np

from stretto.framework.model.nodes import NodeColumns
from stretto.framework.model.normalise import at, bytes_there
from stretto.framework.model.plugin import ScorePlugin
from stretto.framework.model.pod_facts import SchedulingFacts
from stretto.framework.model.snapshot import ParitySnapshot
from stretto.framework.model.status import IntArray

NAME: Final = "ImageLocality"


class ImageLocalityPlugin(ScorePlugin):
    """Counts the bytes that need not be fetched."""

    NAME: ClassVar[str] = NAME
    WEIGHT: ClassVar[int] = 1

    def score(
        self, pod: SchedulingFacts, snapshot: ParitySnapshot, feasible: IntArray
    ) -> IntArray | None:
        """Bytes there, scaled between the two thresholds."""
        nodes = snapshot.nodes
        images, mounts = pod.shape.images, pod.shape.mounts
        key = ("images", images, mounts)
        return at(nodes.kept(key, lambda: _scores(images, nodes, mounts)), feasible)


def _scores(images: tuple[str, ...], nodes: NodeColumns, mounts: tuple[str, ...] = ()) -> IntArray:
    """int64[n]: the score of every node; images that are volumes raise no bound."""
    there = np.zeros(nodes.count, np.int64)
    for name in (*images, *mounts):
        holders = nodes.image_nodes.get(name)
        if holders:
            spread = len(holders) / nodes.count
            there[list(holders)] += int(float(nodes.image_sizes[name]) * spread)
    return bytes_there(there, len(images))
