"""Small files of the kernel: read at once; absent if their subject no longer exists."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

KIB: Final = 1024
"""Bytes in the kernel's unit of memory."""
LONGEST: Final = 1 << 20
"""Maximum number of bytes that are read; files of the kernel are far smaller."""


def read_text(path: Path) -> str | None:
    """Return the content of a file, stripped; ``None`` if the file cannot be read.

    A cgroup or a device may disappear between listing and reading.
    """
    try:
        with path.open("rb") as file:
            return file.read(LONGEST).decode("utf-8", "replace").strip()
    except OSError:
        return None


def read_number(path: Path, default: int | None = None) -> int | None:
    """Return the whole number in a file; ``default`` if the file is absent or has no number."""
    text = read_text(path)
    try:
        return int(text) if text else default
    except ValueError:
        return default


def read_fields(path: Path) -> dict[str, int]:
    """Read a file of lines ``name number``, such as ``cpu.stat`` and ``memory.stat``."""
    found = {}
    for line in (read_text(path) or "").splitlines():
        name, _, number = line.partition(" ")
        if number.isdigit():
            found[name] = int(number)
    return found


def read_meminfo(path: Path) -> dict[str, int]:
    """Read ``/proc/meminfo``, or the ``meminfo`` of a NUMA node: bytes by name."""
    found = {}
    for line in (read_text(path) or "").splitlines():
        label, _, rest = line.partition(":")
        names, number = label.split(), rest.split()[:1]
        if names and number and number[0].isdigit():
            found[names[-1]] = int(number[0]) * KIB
    return found


def read_list(text: str) -> tuple[int, ...]:
    """Parse a list of numbers such as ``0-3,8``; invalid parts are ignored."""
    found: list[int] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        end = last if dash else first
        if first.isdigit() and end.isdigit():
            found.extend(range(int(first), int(end) + 1))
    return tuple(found)


def format_list(numbers: Iterable[int]) -> str:
    """Format numbers as the kernel does, such as ``0-3,8``."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in runs)


def numbered(folder: Path, prefix: str) -> Iterator[tuple[int, Path]]:
    """Entries ``prefix<number>`` of a folder, by number."""
    try:
        entries = list(folder.iterdir())
    except OSError:
        return
    found = [
        (int(entry.name.removeprefix(prefix)), entry)
        for entry in entries
        if entry.name.startswith(prefix) and entry.name.removeprefix(prefix).isdigit()
    ]
    yield from sorted(found)
