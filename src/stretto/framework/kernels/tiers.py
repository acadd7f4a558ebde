"""The choice of the kernels that place pods: the compiled tier (numba) or the NumPy tier.

Both tiers give equal results; property tests compare them. Importing the compiled tier costs half a
second, so a runtime imports it only when it uses it. The tier ``auto`` uses numba only if its
kernels are already compiled, so that no decision waits for a compiler.
"""

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, Final, NamedTuple

from stretto.base.errors import MissingExtraError, UnknownNameError
from stretto.framework.kernels.cache import KernelCache, KernelSet

TIERS: Final = ("auto", "numba", "numpy")
"""Names of tiers that a caller may request."""


class KernelTier(NamedTuple):
    """One tier. ``among`` is an ``InterPodProgram`` or ``None``."""

    #: ``numba`` or ``numpy``.
    name: str
    #: ``place(program, state, cache, log, log_state, choice, batch, limit, among, rules)``; returns
    #: the number of units tried. The arguments from ``among`` on are optional.
    place: Callable[..., Any]
    #: ``refresh(program, class_id, state, cache, log, log_state, limit, rules)``; returns the entry
    #: of its row.
    refresh: Callable[..., Any]
    #: ``place`` for plain profiles, with a cache of blocks alone; ``None`` if there is none.
    place_plain: Callable[..., Any] | None = None
    #: ``recheck(table, state, class_ids, slots)``; returns the number of claims that inter-pod
    #: rules allow, in order.
    recheck: Callable[..., Any] | None = None
    #: ``plain_row(program, class_id, state, cache, log, log_state, rules)``: the row of a class of
    #: a plain profile.
    plain_row: Callable[..., Any] | None = None
    #: True if the searches for victims and for NUMA nodes also use compiled kernels.
    compiles_searches: bool = False


def kernel(tier: str = "auto") -> KernelTier:
    """Return the kernels of a tier; ``auto`` uses the existing compiled ones, or else NumPy.

    Raises:
        UnknownNameError: there is no such tier.
        MissingExtraError: ``numba`` was requested and is not installed.
    """
    tier = resolve(tier)
    from stretto.framework.kernels.numpy import place as plain

    if tier == "numpy":
        return KernelTier("numpy", plain.place, plain.refresh)
    cache = KernelCache()
    cache.forget_stale()
    from stretto.framework.kernels.affinity import values
    from stretto.framework.kernels.place import calls

    return KernelTier(
        name="numba",
        place=calls.place,
        refresh=calls.refresh,
        place_plain=calls.place_plain,
        recheck=values.recheck,
        plain_row=calls.plain_row,
        compiles_searches=tier == "numba" or cache.is_compiled(KernelSet.ALL),
    )


def resolve(tier: str) -> str:
    """Resolve a tier to ``numba`` or ``numpy``.

    ``auto`` stays ``auto`` if only the kernels of a first run are compiled.

    Raises:
        UnknownNameError: there is no such tier.
        MissingExtraError: ``numba`` was requested and is not installed.
    """
    if tier not in TIERS:
        raise UnknownNameError("kernel tier", tier, TIERS)
    if tier == "numpy":
        return tier
    if not has_numba():
        if tier == "numba":
            raise MissingExtraError("kernel tier numba", "kernels", "or use the tier numpy")
        return "numpy"
    if tier == "numba" or KernelCache().is_compiled(KernelSet.ALL):
        return "numba"
    return "auto" if KernelCache().is_compiled(KernelSet.FIRST) else "numpy"


def has_numba() -> bool:
    """Return whether numba is installed."""
    return find_spec("numba") is not None
