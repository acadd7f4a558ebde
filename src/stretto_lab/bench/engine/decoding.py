"""The decoder alone: the upper bound of the bench."""

from collections.abc import Sequence

from stretto.base.clock import Clock
from stretto.sim.writes import batches
from stretto.state.classes.table import PodClasses
from stretto.state.rows.resources import ResourceColumns
from stretto.stores.embedded.templates import TemplateCache
from stretto_lab.bench.engine.objects import SUBMIT

PASSES = 3
"""Passes; the fastest is reported."""


def decoding_rate(bodies: Sequence[bytes], clock: Clock) -> float:
    """Pods per second through the decoder and the class table, best of three passes."""
    classes = PodClasses(ResourceColumns())
    rates = []
    for _ in range(PASSES):
        start = clock.monotonic()
        intern, patterns = classes.intern, TemplateCache()
        for batch in batches(bodies, SUBMIT):
            part = batch
            for body, head in zip(part, patterns.read(part)[1], strict=True):
                intern(head, body)
        rates.append(len(bodies) / (clock.monotonic() - start))
    return max(rates)
