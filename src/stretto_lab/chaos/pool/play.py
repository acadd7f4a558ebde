"""Many seeds of the fault simulator of one pool."""

from collections.abc import Callable
from hashlib import blake2b

import msgspec

from stretto_lab.chaos.pool.laws import PoolLaws
from stretto_lab.chaos.pool.world import PoolWorld

HEAL_STEPS = 40
"""Rounds of five seconds after the last fault."""


class PoolSeed(msgspec.Struct, frozen=True):
    """One seed."""

    #: The seed.
    seed: int
    #: Steps that were played.
    steps: int
    #: The first violated law, with the number of its step; empty if all held.
    breach: str
    #: A digest of all steps and outcomes: equal seeds give equal digests.
    digest: str


def run_seed(seed: int, steps: int) -> PoolSeed:
    """Play one seed, and check every law after each step; the first breach ends it."""
    world = PoolWorld(seed)
    laws = PoolLaws(world)
    digest = blake2b(digest_size=8)
    breach, played = "", 0
    for number in range(steps):
        world.step()
        played = number + 1
        breach = next(laws.breaches(), "")
        if breach:
            break
        state = world.master.state
        counts = (world.trace[-1], sorted(each.id for each in state.offers), len(world.pods()))
        digest.update(repr(counts).encode())
    breach = breach or _healed(world, laws)
    world.pool.close()
    where = f"step {played}: {breach}" if breach else ""
    return PoolSeed(seed, played, where, digest.hexdigest())


def _healed(world: PoolWorld, laws: PoolLaws) -> str:
    """End all faults, and check that nothing is left behind."""
    world.heal()
    for _ in range(HEAL_STEPS):
        world.recover()
        breach = next(laws.breaches(), "")
        if breach:
            return breach
    return next(laws.healed(), "")


def run_seeds(
    seeds: range, steps: int, on_seed: Callable[[int], None] = lambda _: None
) -> list[PoolSeed]:
    """Play seeds; Ctrl-C returns those that are done."""
    found: list[PoolSeed] = []
    try:
        for seed in seeds:
            found.append(run_seed(seed, steps))
            on_seed(len(found))
    except KeyboardInterrupt:
        if not found:
            raise
    return found
