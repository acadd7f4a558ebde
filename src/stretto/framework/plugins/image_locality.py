"""ImageLocality: nodes that have a pod's images; large images that many nodes have count most.

The formula is kube-scheduler's, and kube-parity shares it: the bytes of each image, scaled by the
share of nodes that have it, between 23 MiB and 1,000 MiB per container. Images mounted as volumes
add their bytes and do not raise the bound. The score is static by class and changes when nodes
report other images or are added or removed (``framework.engine.static_rows``). While no node
reports images, classes contain none, and the rule costs nothing.
"""

from collections.abc import Hashable, Mapping
from typing import Any, ClassVar, Final

import numpy as np
import numpy.typing as npt

from stretto.framework.contract.arguments import arguments
from stretto.framework.contract.rule import TOP_SCORE, IntArray, Scope, ScoreRule, SlotArray, View
from stretto.state.classes.table import PodClass

NAME: Final = "ImageLocality"
LEAST: Final = 23 * 1024 * 1024
"""Bytes below which images are pulled too quickly to matter."""
MOST: Final = 1000 * 1024 * 1024
"""Bytes per container above which more bytes do not increase the score."""


class ImageLocalityRule(ScoreRule):
    """Scores nodes by the bytes that they need not pull."""

    NAME: ClassVar[str] = NAME
    SCOPE: ClassVar[Scope] = Scope.STATIC

    def __init__(self, args: Mapping[str, Any]) -> None:
        """Accept no arguments."""
        super().__init__(args)
        arguments(args, (), NAME)

    def signature(self, pod: PodClass) -> Hashable | None:
        """Images of the pod; ``None`` if no node reports any."""
        return (pod.images, pod.mounts) if pod.images else None

    def score(self, pod: PodClass, view: View, slots: SlotArray) -> IntArray:
        """int32[k]: bytes of images on the node, scaled between the two thresholds."""
        nodes = view.nodes
        there = np.zeros(nodes.size, np.int64)
        for name in (*pod.images, *pod.mounts):
            holders = nodes.images.holders(name)
            if len(holders):
                spread = len(holders) / len(nodes)
                there[holders] += int(float(nodes.images.size(name)) * spread)
        return bytes_there(there[slots], len(pod.images)).astype(np.int32)


def bytes_there(there: npt.NDArray[np.int64], images: int) -> npt.NDArray[np.int64]:
    """int64[k] in 0..100: scaled bytes of ``images`` images that need not be pulled."""
    most = MOST * images
    scores: npt.NDArray[np.int64] = (
        TOP_SCORE * (np.clip(there, LEAST, most) - LEAST) // (most - LEAST)
    )
    return scores
