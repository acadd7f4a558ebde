"""Comparison of cached score rows with the reference evaluation of the rules."""

from typing import Final

import numpy as np

from stretto.framework.engine.runtime import Runtime
from stretto.plane.plane import Plane

SAMPLE: Final = 64
"""Classes whose rows are compared."""


def equals_reference(plane: Plane) -> bool:
    """True if cached rows equal the reference rows, on a sample of classes."""
    runtime = plane.shards[0].default.runtime
    assert isinstance(runtime, Runtime)
    runtime.sync()
    live = [c for c, users in enumerate(plane.cluster.classes.users) if users]
    step = max(1, len(live) // SAMPLE)
    return all(
        np.array_equal(runtime.row(class_id), runtime.reference_row(class_id))
        for class_id in live[::step]
    )
