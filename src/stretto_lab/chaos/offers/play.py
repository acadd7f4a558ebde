"""Many seeds of the fault simulator of offers."""

from collections.abc import Callable
from hashlib import blake2b

import msgspec

from stretto_lab.chaos.offers.laws import OfferLaws
from stretto_lab.chaos.offers.steps import OfferSteps


class OfferSeed(msgspec.Struct, frozen=True):
    """One seed."""

    #: The seed.
    seed: int
    #: Steps that were played.
    steps: int
    #: The first violated law, with the number of its step; empty if all held.
    breach: str
    #: A digest of all steps and outcomes: equal seeds give equal digests.
    digest: str


def run_seed(seed: int, steps: int) -> OfferSeed:
    """Play one seed, and check every law after each step; the first breach ends it."""
    pool = OfferSteps(seed)
    laws = OfferLaws(pool)
    digest = blake2b(digest_size=8)
    breach, played = "", 0
    for number in range(steps):
        pool.step()
        played = number + 1
        breach = next(laws.breaches(), "")
        if breach:
            break
        master = pool.master
        counts = (pool.trace[-1], len(master.offers), len(master.tasks), sorted(master.offers)[:3])
        digest.update(repr(counts).encode())
    breach = breach or next(laws.closed(), "")
    where = f"step {played}: {breach}" if breach else ""
    return OfferSeed(seed, played, where, digest.hexdigest())


def run_seeds(
    seeds: range, steps: int, on_seed: Callable[[int], None] = lambda _: None
) -> list[OfferSeed]:
    """Play seeds; Ctrl-C returns those that are done."""
    found: list[OfferSeed] = []
    try:
        for seed in seeds:
            found.append(run_seed(seed, steps))
            on_seed(len(found))
    except KeyboardInterrupt:
        if not found:
            raise
    return found
