"""Memory that calls leave behind."""

import gc
import tracemalloc
from collections.abc import Callable


def bytes_kept(call: Callable[[int], object]) -> int:
    """Return the bytes that remain after eight calls with different numbers."""
    call(0)
    gc.collect()
    tracemalloc.start()
    for number in range(1, 9):
        call(number)
    gc.collect()
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return kept
