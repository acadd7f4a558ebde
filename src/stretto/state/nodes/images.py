"""Which nodes have which images, as nodes report them: for the score of pods that use them.

Kept only where a profile asks. A pod's class tells its images from the first report on, so that
clusters whose nodes report none pay nothing for it.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from stretto.api.types.core import ContainerImage


class NodeImages:
    """Images by name: how large, and on which slots."""

    def __init__(self, *, wanted: bool) -> None:
        """Start with no image."""
        #: Whether anybody asks.
        self.wanted = wanted
        #: Whether a node has ever reported an image.
        self.active = False
        #: Rises with every change by which a score may change.
        self.version = 0
        self._sizes: dict[str, int] = {}
        self._holders: dict[str, set[int]] = {}
        self._on: dict[int, tuple[ContainerImage, ...]] = {}

    def put(self, slot: int, images: Sequence[ContainerImage]) -> None:
        """What the node of a slot reports now."""
        if not self.wanted or (not images and slot not in self._on):
            return
        reported = tuple(images)
        if self._on.get(slot) == reported:
            return
        self.remove(slot)
        self.version += 1
        if not reported:
            return
        self.active = True
        self._on[slot] = reported
        for image in reported:
            for name in image.names:
                self._sizes.setdefault(name, image.size_bytes)
                self._holders.setdefault(name, set()).add(slot)

    def remove(self, slot: int) -> None:
        """The node of a slot is gone."""
        gone = self._on.pop(slot, ())
        self.version += bool(gone)
        for name in (name for image in gone for name in image.names):
            holders = self._holders.get(name)
            if holders is None:
                continue
            holders.discard(slot)
            if not holders:
                del self._holders[name], self._sizes[name]

    def recount(self) -> None:
        """There are more or fewer nodes: every share of nodes is another."""
        self.version += self.active

    def holders(self, name: str) -> npt.NDArray[np.int64]:
        """int64[k]: slots of the nodes that have an image."""
        found = self._holders.get(name, ())
        return np.fromiter(found, np.int64, len(found))

    def size(self, name: str) -> int:
        """Bytes of an image, as the first node told; 0 where no node has it."""
        return self._sizes.get(name, 0)
