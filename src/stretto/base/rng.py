"""Randomness as a dependency: seeded, split by name, independent of PYTHONHASHSEED.

One seed determines a whole run. Each component has a child stream with a name. Therefore a
component that draws more often does not change the streams of other components. Child seeds come
from a stable hash of the parent's seed and the names, never from Python's `hash()`.
"""

import hashlib
import random
import uuid
from collections.abc import MutableSequence, Sequence
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    # NumPy takes 100 ms to import, and most commands need only the plain stream.
    import numpy as np

T = TypeVar("T")


class Rng:
    """One random stream."""

    def __init__(self, seed: int) -> None:
        #: The seed: equal seeds give equal streams.
        self.seed = seed
        self._random = random.Random(seed)

    def __repr__(self) -> str:
        return f"Rng({self.seed})"

    def child(self, *names: str | int) -> "Rng":
        """Return an independent stream, identified by its names; this stream draws nothing."""
        path = "\x1f".join(f"{type(name).__name__}:{name}" for name in names)
        digest = hashlib.blake2b(f"{self.seed}\x1e{path}".encode(), digest_size=8)
        return Rng(int.from_bytes(digest.digest(), "big"))

    def numpy(self) -> "np.random.Generator":
        """Return a separate NumPy generator (PCG64), seeded from the seed of this stream."""
        import numpy as np

        return np.random.Generator(np.random.PCG64(self.seed % (1 << 64)))

    def random(self) -> float:
        """A number in [0, 1)."""
        return self._random.random()

    def randint(self, low: int, high: int) -> int:
        """An integer from low to high, both included."""
        return self._random.randint(low, high)

    def choice(self, items: Sequence[T]) -> T:
        """One of the items, with equal probability."""
        return self._random.choice(items)

    def shuffle(self, items: MutableSequence[T]) -> None:
        """Shuffle a list in place."""
        self._random.shuffle(items)

    def uid(self) -> str:
        """A random UUID."""
        return str(uuid.UUID(int=self._random.getrandbits(128), version=4))
