"""The kernel tier of a command, and the compiler process that it starts if kernels are missing.

The tier ``auto`` never waits: without compiled kernels, the command uses the NumPy tier while a
second process compiles. The tier ``numba`` waits for that process.
"""

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Final

from stretto.base.errors import StrettoError
from stretto.framework.kernels import tiers
from stretto.framework.kernels.cache import KernelCache

BACKGROUND: Final = "STRETTO_BACKGROUND_COMPILE"
"""Environment variable; ``0`` prevents the compiler process."""
SECONDS: Final = 420
"""Approximate compile time of all kernels on one core in seconds, for messages."""
_COMPILER: Final = (sys.executable, "-P", "-m", "stretto.cli.main", "kernels")

Note = Callable[[str], object]
"""Function that writes a progress note."""

_started: list[subprocess.Popen[bytes]] = []


def tier_of(requested: str, note: Note) -> str:
    """Resolve the tier of a command once; start the compiler if kernels are missing.

    Args:
        requested: ``auto``, ``numba`` or ``numpy``.
        note: writes the message about the compilation.

    Raises:
        MissingExtraError: ``numba`` is requested but not installed.
        StrettoError: the kernels do not compile.
    """
    tier = tiers.resolve(requested)
    if tier == "numpy" and requested == "numpy":
        return tier
    if not tiers.has_numba() or KernelCache().is_compiled():
        return tier
    if requested == "numba":
        compile_now(note)
    elif compile_in_background():
        note(
            f"Compiling kernels in the background (once per machine, about {SECONDS} s); "
            "decisions use the NumPy tier until then."
        )
    return tier


def measured_tier(requested: str, note: Note) -> str:
    """Return the tier of a measurement: ``auto`` waits for the compiler instead of measuring NumPy.

    Raises:
        MissingExtraError: ``numba`` is requested but not installed.
        StrettoError: the kernels do not compile.
    """
    return tier_of("numba" if requested == "auto" and tiers.has_numba() else requested, note)


def kernels_are_ready() -> bool:
    """Return whether the tier ``auto`` uses compiled kernels now."""
    return tiers.resolve("auto") == "numba"


def compile_now(note: Note) -> None:
    """Compile every kernel in a second process and wait for it.

    Raises:
        StrettoError: the kernels do not compile.
    """
    note(f"Compiling kernels (once per machine, about {SECONDS} s)")
    done = subprocess.run(
        _COMPILER, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=False
    )
    if done.returncode:
        raise StrettoError(f"the kernels do not compile: stretto kernels exits {done.returncode}")


def compile_in_background() -> bool:
    """Start a compiler process that outlives this one; return False if disabled or impossible.

    The process has a low priority, and exits at once if another process is compiling.
    """
    cache = KernelCache()
    if os.environ.get(BACKGROUND) == "0" or not cache.is_writable():
        return False
    _started.append(
        subprocess.Popen(
            [*_COMPILER, "--background", "--quiet"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    )
    return True
