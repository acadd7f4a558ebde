"""The tier that a command uses, and the compiler process that it starts where kernels are missing.

The tier ``auto`` never waits: without compiled kernels the command decides on the NumPy tier while
a second process compiles. The tier ``numba`` waits for that process.
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
"""Environment variable: ``0`` starts no compiler process."""
SECONDS: Final = 180
"""How long a compilation of all kernels takes on one core, for messages."""
_COMPILER: Final = (sys.executable, "-P", "-m", "stretto.cli.main", "kernels")

Note = Callable[[str], object]
"""Writes a line on what the command does."""

_started: list[subprocess.Popen[bytes]] = []


def tier_of(asked: str, note: Note) -> str:
    """The tier of a command, resolved once; starts the compiler where kernels are missing.

    Args:
        asked: ``auto``, ``numba`` or ``numpy``.
        note: writes the message on the compilation.

    Raises:
        MissingExtraError: ``numba`` was asked for and is not installed.
        StrettoError: the kernels do not compile.
    """
    tier = tiers.resolve(asked)
    if tier == "numpy" and asked == "numpy":
        return tier
    if not tiers.has_numba() or KernelCache().is_compiled():
        return tier
    if asked == "numba":
        compile_now(note)
    elif compile_in_background():
        note(
            f"Compiling kernels in the background (once per machine, about {SECONDS} s); "
            "decisions use the NumPy tier until then."
        )
    return tier


def measured_tier(asked: str, note: Note) -> str:
    """The tier of a measurement: ``auto`` waits for the compiler instead of measuring NumPy.

    Raises:
        MissingExtraError: ``numba`` was asked for and is not installed.
        StrettoError: the kernels do not compile.
    """
    return tier_of("numba" if asked == "auto" and tiers.has_numba() else asked, note)


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
    """Start a compiler process that outlives this one; False where none is wanted or possible.

    The process has a low priority, and ends at once where another one compiles already.
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
