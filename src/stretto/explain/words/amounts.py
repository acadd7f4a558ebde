"""Amounts as people say them: ``1.5 cores``, ``12.3 GiB``, ``2 nvidia.com/gpu``."""

from typing import Final

_UNITS: Final = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
_BYTES: Final = ("memory", "ephemeral-storage")


def format_amount(resource: str, amount: int) -> str:
    """An amount in exact units (milli-CPU, bytes, pieces) with its unit.

    >>> spoken("cpu", 1500), spoken("cpu", 1000), spoken("memory", 13 << 29)
    ('1.5 cores', '1 core', '6.5 GiB')
    >>> spoken("nvidia.com/gpu", 2), spoken("pods", 1)
    ('2 nvidia.com/gpu', '1 pod place')
    """
    if resource == "cpu":
        return f"{_short(amount / 1000)} core{'' if amount == 1000 else 's'}"
    if resource in _BYTES or resource.startswith("hugepages-"):
        size = _size(amount)
        return size if resource == "memory" else f"{size} of {resource}"
    if resource == "pods":
        return f"{amount} pod place{'' if amount == 1 else 's'}"
    return f"{amount:,} {resource}"


def short_of(resource: str, asked: int, free: int) -> str:
    """What is missing, with what there is.

    >>> short_of("cpu", 4000, 1500)
    '2.5 cores short (asks 4, 1.5 free)'
    >>> short_of("memory", 4 << 30, 1 << 29)
    '3.5 GiB short (asks 4 GiB, 512 MiB free)'
    """
    has = max(0, free)
    asks, left = format_amount(resource, asked), format_amount(resource, has)
    if resource not in _BYTES and not resource.startswith("hugepages-"):
        asks, left = asks.split()[0], left.split()[0]
    return f"{format_amount(resource, asked - has)} short (asks {asks}, {left} free)"


def format_count(count: int, word: str, plural: str = "") -> str:
    """A number with its noun.

    >>> counted(1, "node"), counted(1200, "node"), counted(2, "class", "classes")
    ('1 node', '1,200 nodes', '2 classes')
    """
    return f"{count:,} {word if count == 1 else plural or word + 's'}"


def _size(count: int) -> str:
    value, power = float(abs(count)), 0
    while value >= 1024 and power < len(_UNITS) - 1:
        value /= 1024
        power += 1
    return f"{'-' if count < 0 else ''}{_short(value)} {_UNITS[power]}"


def _short(value: float) -> str:
    """At most three decimals, and no zeros behind."""
    digits = 3 if abs(value) < 10 else 1
    return f"{value:,.{digits}f}".rstrip("0").rstrip(".")
