"""The processor cores that this process may use."""

import os


def usable_cores() -> int:
    """Cores of the affinity of this process; all cores where the platform has no affinity."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
