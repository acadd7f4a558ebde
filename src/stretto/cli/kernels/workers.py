"""Compilation on several cores: a pool of processes plays the scenes.

numba writes its cache without a lock. If two processes save variants of one kernel at the same
time, they use the same data file. Each access of a worker therefore holds a lock.
"""

import fcntl
import multiprocessing
import signal
from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, Final

from stretto.cli.kernels import scenes
from stretto.framework.kernels.cache import KernelCache, KernelSet

MOST: Final = 3
"""Maximum number of processes: the longest scene takes half of the total time."""

Part = tuple[KernelSet, str]
"""Set and name of a scene."""


def play_scenes(parts: Sequence[Part], processes: int) -> Iterator[Part]:
    """Play scenes and yield each finished one.

    With one process, the scenes are played in this process, in order. With more processes they end
    in any order, and closing the iterator early ends the processes.

    Raises:
        Exception: an exception of a scene.
    """
    if processes == 1 or len(parts) == 1:
        yield from map(_play, parts)
        return
    spawn = multiprocessing.get_context("spawn")
    with spawn.Pool(min(processes, len(parts)), initializer=_prepare_worker) as pool:
        yield from pool.imap_unordered(_play, parts)


def _play(part: Part) -> Part:
    """Play one scene and return it."""
    kernel_set, name = part
    scenes.SCENES[kernel_set][name]()
    return part


def _prepare_worker() -> None:
    """Ignore interrupts, which the parent handles by ending its workers, and lock numba's cache."""
    from numba.core.caching import IndexDataCacheFile

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    path = KernelCache().folder / "kernels.access.lock"
    for name in ("load", "save"):
        setattr(IndexDataCacheFile, name, locked(getattr(IndexDataCacheFile, name), path))


def locked(access: Callable[..., Any], path: Path) -> Callable[..., Any]:
    """Return a method of numba's cache files that holds the lock file at a path while it runs."""

    @wraps(access)
    def call(*args: Any) -> Any:
        with path.open("w", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            return access(*args)

    return call
