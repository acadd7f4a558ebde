"""Which kernels place pods: the compiled tier where numba is installed, else NumPy.

Both give the same answers; property tests hold them equal. Importing the compiled tier costs half
a second, so it is imported when a runtime asks for it and nowhere else.
"""

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, Final, NamedTuple

from stretto.base.errors import NotAllowedError, UnknownNameError

TIERS: Final = ("auto", "numba", "numpy")
"""Names a tier may be asked for by."""


class Kernel(NamedTuple):
    """One tier."""

    #: ``numba`` or ``numpy``.
    name: str
    #: ``place(program, state, cache, log, log_state, choice, batch, limit)``: units tried.
    place: Callable[..., Any]
    #: ``refresh(*program, class_id, state, cache, log, log_state, limit, lean)``: a class's entry.
    refresh: Callable[..., Any]


def kernel(tier: str = "auto") -> Kernel:
    """The kernels of a tier; ``auto`` takes the compiled ones where numba is installed.

    Raises:
        UnknownNameError: there is no such tier.
        NotAllowedError: ``numba`` was asked for and is not installed.
    """
    if tier not in TIERS:
        raise UnknownNameError("kernel tier", tier, TIERS)
    installed = has_numba()
    if tier == "numba" and not installed:
        hint = "install stretto[kernels], or ask for the tier numpy"
        raise NotAllowedError("kernel tier numba", "numba is not installed", hint)
    if tier == "numpy" or not installed:
        from stretto.framework import kernels_numpy

        return Kernel("numpy", kernels_numpy.place, kernels_numpy.refresh)
    from stretto.framework import kernels_place, kernels_rows

    return Kernel("numba", kernels_place.place, kernels_rows.refresh)


def has_numba() -> bool:
    """Whether the compiled tier can be used."""
    return find_spec("numba") is not None
