"""The cache of compiled kernels: its folders, the compiled sets, and outdated code.

numba stores compiled code in ``NUMBA_CACHE_DIR``, or else next to the sources, or else (for a
read-only installation) in the user's cache folder. It identifies a kernel by the content of its own
file: after a change in a callee it would use the old code. Therefore the folder also contains a
stamp of all sources, and compiled code of other sources is deleted. A marker means that compilation
has finished.
"""

import fcntl
import os
import platform
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from functools import cache
from hashlib import blake2b, sha1
from importlib.metadata import version
from pathlib import Path
from typing import Final

KERNELS: Final = Path(__file__).resolve().parent
"""The folder of the kernels' sources."""

_STATE: Final = (
    "rows/devices.py",
    "rows/resources.py",
    "rows/slots.py",
    "numa/ledger.py",
    "numa/layout.py",
)
"""Files of ``state`` whose constants are compiled into the kernels."""


_NO_KERNELS: Final = ("cache.py", "tiers.py")
"""Files in the kernels' folder on which no compiled code depends."""


class KernelSet(StrEnum):
    """A set of kernels that is compiled as a whole."""

    #: Kernels that place pods: needed by a first run.
    FIRST = "first"
    #: All kernels, including the searches for victims and for NUMA nodes.
    ALL = "all"


class KernelCache:
    """The compiled code of the kernels on this machine."""

    def __init__(self, kernels: Path = KERNELS) -> None:
        """Use the kernels in a folder; the environment determines the cache folder."""
        self._kernels = kernels
        given = os.environ.get("NUMBA_CACHE_DIR")
        self._root = Path(given).expanduser() if given else _user_cache()
        self._in_tree = not given and os.access(kernels, os.W_OK)

    @property
    def folder(self) -> Path:
        """The folder of the stamp and the markers."""
        return self._kernels / "__pycache__" if self._in_tree else self._elsewhere(self._kernels)

    def folders(self) -> list[Path]:
        """The folders of compiled code, existing or not."""
        inner = sorted(each for each in self._kernels.iterdir() if each.is_dir())
        sources = [self._kernels, *(each for each in inner if each.name != "__pycache__")]
        if self._in_tree:
            return [each / "__pycache__" for each in sources]
        return [self._elsewhere(each) for each in sources]

    def is_writable(self) -> bool:
        """Return whether compiled code can be stored at all."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            return False
        return os.access(self.folder, os.W_OK)

    def _elsewhere(self, source: Path) -> Path:
        """Folder outside of the source tree in which numba stores the code of a source folder."""
        digest = sha1(str(source).encode(), usedforsecurity=False).hexdigest()
        return self._root / f"{source.name}_{digest}"

    # ------------------------------------------------------------ markers

    def is_compiled(self, part: KernelSet = KernelSet.ALL) -> bool:
        """Return whether a set of kernels is compiled, from these sources and for this machine."""
        return any(self._marker(each).exists() for each in {part, KernelSet.ALL})

    def mark_compiled(self, part: KernelSet) -> bool:
        """Mark a set of kernels as compiled; returns false if the folder is read-only."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._marker(part).touch()
        except OSError:
            return False
        return True

    def _marker(self, part: KernelSet) -> Path:
        """Path of the marker of a set."""
        return self.folder / f"kernels.{self._key()}.{part.value}"

    def _key(self) -> str:
        """Digest of the inputs of compiled code: sources, interpreter, numba and processor."""
        facts = _sources_digest(self._kernels), sys.implementation.cache_tag, _numba(), _processor()
        return blake2b("\0".join(map(str, facts)).encode(), digest_size=8).hexdigest()

    # ------------------------------------------------------------ stale code

    def forget_stale(self) -> bool:
        """Delete compiled code and markers of other sources; returns whether there were any.

        A read-only folder is unchanged.
        """
        stamp, digest = self.folder / "kernels.stamp", _sources_digest(self._kernels)
        try:
            if stamp.exists() and stamp.read_text(encoding="ascii") == digest:
                return False
            stale = [*self.folder.glob("kernels.*.first"), *self.folder.glob("kernels.*.all")]
            for folder in self.folders():
                stale += [*folder.glob("*.nbi"), *folder.glob("*.nbc")]
            for file in stale:
                file.unlink(missing_ok=True)
            stamp.parent.mkdir(parents=True, exist_ok=True)
            stamp.write_text(digest, encoding="ascii")
        except OSError:
            return False
        return True

    # ------------------------------------------------------------ one compiler at a time

    @contextmanager
    def compiling(self, *, wait: bool) -> Iterator[bool]:
        """Hold the lock of the process that compiles; yields false if another process holds it.

        Args:
            wait: true to wait for the other process instead.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            lock = (self.folder / f"kernels.{self._key()}.lock").open("w")
        except OSError:
            yield True  # the folder is read-only: there is nothing to protect
            return
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            except BlockingIOError:
                yield False
                return
            yield True


def _user_cache() -> Path:
    """The user-wide cache of numba."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "numba"


@cache
def _sources_digest(kernels: Path) -> str:
    """Digest of the kernels and of the files whose constants are compiled into them."""
    here = (path for path in kernels.rglob("*.py") if path.name not in _NO_KERNELS)
    tables = (kernels.parent / "compiled").glob("*.py")
    state = (kernels.parents[1] / "state" / name for name in _STATE)
    sources = sorted([*here, *tables, *(each for each in state if each.exists())])
    return blake2b(b"\0".join(path.read_bytes() for path in sources)).hexdigest()


@cache
def _numba() -> str:
    return version("numba")


def _processor() -> str:
    """Processor for which numba compiles: from the environment, or else this one."""
    named = os.environ.get("NUMBA_CPU_NAME"), os.environ.get("NUMBA_CPU_FEATURES")
    return f"{named}" if any(each is not None for each in named) else _this_processor()


@cache
def _this_processor() -> str:
    """Model and features of this machine's processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return f"{platform.machine()} {platform.processor()}"
    names = ("model name", "flags", "Features", "CPU part")
    found = {line.partition(":")[0].strip(): line for line in lines if line.startswith(names)}
    return "\n".join([platform.machine(), *(found[name] for name in sorted(found))])
