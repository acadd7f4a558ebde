"""Images present on nodes, for the image-locality score.

The images are stored only if a profile uses this score. Pod classes include images only from the
first report on, so that clusters whose nodes report no images have no cost.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from stretto.api.types.core import ContainerImage


class NodeImages:
    """Images by name: size, and the slots that have them."""

    def __init__(self, *, wanted: bool) -> None:
        """Start without images."""
        #: True if any profile reads images.
        self.wanted = wanted
        #: True if a node has ever reported an image.
        self.active = False
        #: Incremented on every change that may change a score.
        self.version = 0
        self._sizes: dict[str, int] = {}
        self._holders: dict[str, set[int]] = {}
        self._on: dict[int, tuple[ContainerImage, ...]] = {}

    def put(self, slot: int, images: Sequence[ContainerImage]) -> None:
        """Set the images that the node of a slot reports."""
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
        """Remove the images of a slot."""
        dropped = self._on.pop(slot, ())
        self.version += bool(dropped)
        for name in (name for image in dropped for name in image.names):
            holders = self._holders.get(name)
            if holders is None:
                continue
            holders.discard(slot)
            if not holders:
                del self._holders[name], self._sizes[name]

    def recount(self) -> None:
        """Invalidate the scores after the number of nodes, part of every share, changed."""
        self.version += self.active

    def holders(self, name: str) -> npt.NDArray[np.int64]:
        """int64[k]: slots of the nodes that have an image."""
        found = self._holders.get(name, ())
        return np.fromiter(found, np.int64, len(found))

    def size(self, name: str) -> int:
        """Size of an image in bytes, as reported by the first node; 0 if no node has it."""
        return self._sizes.get(name, 0)
