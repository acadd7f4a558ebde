"""The processor cores that this process may use."""

import os


def usable_cores() -> int:
    """Return the number of cores in this process' affinity; all cores if there is no affinity."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
