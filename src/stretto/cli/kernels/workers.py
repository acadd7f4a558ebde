"""Compiling on several cores: a pool of processes plays the scenes.

numba writes its cache without a lock. Two processes that save variants of one kernel at the same
time would share a data file, so each access of a worker holds a lock.
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
"""Processes that are worthwhile: the longest scene takes half of the time of all."""

Part = tuple[KernelSet, str]
"""A scene: its set and its name."""


def play_scenes(parts: Sequence[Part], processes: int) -> Iterator[Part]:
    """Play scenes and yield each one that has ended.

    With one process the scenes are played here, in order. With more they end in any order, and
    leaving the iterator early ends the processes.

    Raises:
        Exception: what a scene raises.
    """
    if processes == 1 or len(parts) == 1:
        yield from map(_play, parts)
        return
    spawn = multiprocessing.get_context("spawn")
    with spawn.Pool(min(processes, len(parts)), initializer=_prepare_worker) as pool:
        yield from pool.imap_unordered(_play, parts)


def _play(part: Part) -> Part:
    """Play one scene."""
    kernel_set, name = part
    scenes.SCENES[kernel_set][name]()
    return part


def _prepare_worker() -> None:
    """Leave interrupts to the parent, which ends its workers, and lock numba's cache."""
    from numba.core.caching import IndexDataCacheFile

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    path = KernelCache().folder / "kernels.access.lock"
    for name in ("load", "save"):
        setattr(IndexDataCacheFile, name, locked(getattr(IndexDataCacheFile, name), path))


def locked(access: Callable[..., Any], path: Path) -> Callable[..., Any]:
    """A method of numba's cache files that holds the lock file at a path while it runs."""

    @wraps(access)
    def call(*args: Any) -> Any:
        with path.open("w", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            return access(*args)

    return call
