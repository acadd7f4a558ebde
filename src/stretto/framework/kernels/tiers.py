"""Which kernels place pods: the compiled tier where numba is installed, else NumPy.

Both give the same answers; property tests hold them equal. Importing the compiled tier costs half
a second, so it is imported when a runtime asks for it and nowhere else.

What numba compiled is kept beside the sources, and looked up by the file that a function stands in,
not by those of the functions it calls. A kernel whose callee has changed would go on as before, so
what was compiled from other sources is thrown away first.
"""

from collections.abc import Callable, Sequence
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, NamedTuple

from stretto.base.errors import NotAllowedError, UnknownNameError

TIERS: Final = ("auto", "numba", "numpy")
"""Names a tier may be asked for by."""


_STATE: Final = (
    "rows/devices.py",
    "rows/resources.py",
    "rows/slots.py",
    "numa/ledger.py",
    "numa/layout.py",
)
"""Files of ``state`` whose constants the kernels read."""


class KernelTier(NamedTuple):
    """One tier. ``among`` is an ``InterPodProgram`` or ``None``."""

    #: ``numba`` or ``numpy``.
    name: str
    #: ``place(program, state, cache, log, log_state, choice, batch, limit, among, rules)``: units
    #: tried. The arguments from ``among`` on may be left out.
    place: Callable[..., Any]
    #: ``refresh(program, class_id, state, cache, log, log_state, limit, rules)``: entry of its row.
    refresh: Callable[..., Any]
    #: ``place`` for plain profiles, with a cache of blocks alone; ``None`` where there is none.
    place_plain: Callable[..., Any] | None = None
    #: ``recheck(table, state, class_ids, slots)``: claims that inter-pod rules allow, in order.
    recheck: Callable[..., Any] | None = None
    #: ``plain_row(program, class_id, state, cache, log, log_state, rules)``: the row of a class of
    #: a plain profile.
    plain_row: Callable[..., Any] | None = None


def kernel(tier: str = "auto") -> KernelTier:
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
        from stretto.framework.kernels.numpy import place as plain

        return KernelTier("numpy", plain.place, plain.refresh)
    here = Path(__file__).parent
    forget_stale(here, _sources(here))
    from stretto.framework.kernels.affinity import values
    from stretto.framework.kernels.place import calls

    return KernelTier(
        name="numba",
        place=calls.place,
        refresh=calls.refresh,
        place_plain=calls.place_plain,
        recheck=values.recheck,
        plain_row=calls.plain_row,
    )


def has_numba() -> bool:
    """Whether the compiled tier can be used."""
    return find_spec("numba") is not None


def forget_stale(kernels: Path, sources: Sequence[Path]) -> bool:
    """Delete compiled kernels that were made from other sources; whether there were such.

    Where a folder cannot be written, numba does not keep its work there either.
    """
    stamp = kernels / "__pycache__" / "kernels.stamp"
    try:
        digest = blake2b(b"\0".join(path.read_bytes() for path in sources)).hexdigest()
        if stamp.exists() and stamp.read_text(encoding="ascii") == digest:
            return False
        for compiled in (*kernels.rglob("*.nbi"), *kernels.rglob("*.nbc")):
            compiled.unlink(missing_ok=True)
        stamp.parent.mkdir(exist_ok=True)
        stamp.write_text(digest, encoding="ascii")
    except OSError:
        return False
    return True


def _sources(kernels: Path) -> list[Path]:
    """The kernels, and the files whose constants are compiled into them."""
    framework, package = kernels.parent, kernels.parents[1]
    tables = (framework / "compiled").glob("*.py")
    state = (package / "state" / name for name in _STATE)
    return sorted([*kernels.rglob("*.py"), *tables, *state])
