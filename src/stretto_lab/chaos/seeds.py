"""Seeds of a world with laws: each runs step by step, and the first breach ends it."""

from collections.abc import Callable, Iterator
from hashlib import blake2b
from typing import Protocol

import msgspec


class SeedOutcome(msgspec.Struct, frozen=True):
    """Result of one seed."""

    #: The seed.
    seed: int
    #: Number of steps.
    steps: int
    #: The first violated law, with the number of its step; empty if all laws held.
    breach: str
    #: A digest of all steps and results; equal seeds give equal digests.
    digest: str


class SeedPlay(Protocol):
    """A world whose steps are drawn from one seed, and its laws."""

    def step(self) -> None:
        """Run the next step."""
        ...

    def breaches(self) -> Iterator[str]:
        """Laws that are violated after a step."""
        ...

    def sample(self) -> object:
        """The part of a step that the digest covers."""
        ...

    def settle(self) -> str:
        """End all faults; return the first law that is violated then, or an empty text."""
        ...

    def close(self) -> None:
        """Release the resources of the world."""
        ...


def run_seed(begin: Callable[[int], SeedPlay], seed: int, steps: int) -> SeedOutcome:
    """Run one seed, and check every law after each step; the first breach ends it.

    Args:
        begin: creates the world of a seed.
        seed: the seed.
        steps: steps before the faults end.
    """
    play = begin(seed)
    digest = blake2b(digest_size=8)
    breach, played = "", 0
    for number in range(steps):
        play.step()
        played = number + 1
        breach = next(play.breaches(), "")
        if breach:
            break
        digest.update(repr(play.sample()).encode())
    breach = breach or play.settle()
    play.close()
    where = f"step {played}: {breach}" if breach else ""
    return SeedOutcome(seed, played, where, digest.hexdigest())


def run_seeds(
    begin: Callable[[int], SeedPlay],
    seeds: range,
    steps: int,
    on_seed: Callable[[int], None] = lambda _: None,
) -> list[SeedOutcome]:
    """Run seeds; after Ctrl-C, return the results of finished ones.

    Raises:
        KeyboardInterrupt: no seed has finished.
    """
    found: list[SeedOutcome] = []
    try:
        for seed in seeds:
            found.append(run_seed(begin, seed, steps))
            on_seed(len(found))
    except KeyboardInterrupt:
        if not found:
            raise
    return found
