"""ImageLocality: nodes that have a pod's images, large ones that many nodes have above all.

kube-scheduler's formula to the point: the bytes of each image, scaled by the share of nodes that
have it, between 23 MiB and 1,000 MiB a container. Images that are volumes add their bytes and raise
no bound. It is static by class and changes when nodes
report other images or when nodes come and go (``framework.engine.static_rows``). Pods whose nodes
report nothing have no images in their class, and cost nothing.
"""

from collections.abc import Hashable, Mapping
from typing import Any, ClassVar, Final

import numpy as np

from stretto.framework.contract.arguments import arguments
from stretto.framework.contract.rule import IntArray, Scope, ScoreRule, SlotArray, View
from stretto.framework.model.normalise import bytes_there
from stretto.state.classes.table import PodClass

NAME: Final = "ImageLocality"


class ImageLocalityRule(ScoreRule):
    """Scores nodes by the bytes that they need not fetch."""

    NAME: ClassVar[str] = NAME
    SCOPE: ClassVar[Scope] = Scope.STATIC

    def __init__(self, args: Mapping[str, Any]) -> None:
        """Take no arguments."""
        super().__init__(args)
        arguments(args, (), NAME)

    def signature(self, pod: PodClass) -> Hashable | None:
        """The images; no say where no node reports any."""
        return (pod.images, pod.mounts) if pod.images else None

    def score(self, pod: PodClass, view: View, slots: SlotArray) -> IntArray:
        """int32[k]: bytes there, scaled between the two thresholds."""
        nodes = view.nodes
        there = np.zeros(nodes.size, np.int64)
        for name in (*pod.images, *pod.mounts):
            holders = nodes.images.holders(name)
            if len(holders):
                spread = len(holders) / len(nodes)
                there[holders] += int(float(nodes.images.size(name)) * spread)
        return bytes_there(there[slots], len(pod.images)).astype(np.int32)
