"""Amounts in human units: ``1.5 cores``, ``12.3 GiB``, ``2 nvidia.com/gpu``."""

from typing import Final

_UNITS: Final = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
_BYTES: Final = ("memory", "ephemeral-storage")


def format_amount(resource: str, amount: int) -> str:
    """Format an exact amount (milli-CPU, bytes or a count) with its unit.

    >>> format_amount("cpu", 1500), format_amount("cpu", 1000), format_amount("memory", 13 << 29)
    ('1.5 cores', '1 core', '6.5 GiB')
    >>> format_amount("nvidia.com/gpu", 2), format_amount("pods", 1)
    ('2 nvidia.com/gpu', '1 pod slot')
    """
    if resource == "cpu":
        return f"{_short(amount / 1000)} core{'' if amount == 1000 else 's'}"
    if resource in _BYTES or resource.startswith("hugepages-"):
        size = _size(amount)
        return size if resource == "memory" else f"{size} of {resource}"
    if resource == "pods":
        return f"{amount} pod slot{'' if amount == 1 else 's'}"
    return f"{amount:,} {resource}"


def bare_amount(resource: str, amount: int) -> str:
    """Format an amount without the name of its resource, for texts that name it already.

    >>> bare_amount("cpu", 1500), bare_amount("memory", 1 << 30), bare_amount("nvidia.com/gpu", 2)
    ('1.5', '1 GiB', '2')
    """
    text = format_amount(resource, amount)
    if resource in _BYTES or resource.startswith("hugepages-"):
        return text.removesuffix(f" of {resource}")
    return text.split()[0]


def short_of(resource: str, requested: int, free: int) -> str:
    """Describe a shortage: the missing amount, then the request and the free amount.

    >>> short_of("cpu", 4000, 1500)
    '2.5 cores short (requests 4, 1.5 free)'
    >>> short_of("memory", 4 << 30, 1 << 29)
    '3.5 GiB short (requests 4 GiB, 512 MiB free)'
    """
    available = max(0, free)
    missing = format_amount(resource, requested - available)
    request, unused = bare_amount(resource, requested), bare_amount(resource, available)
    return f"{missing} short (requests {request}, {unused} free)"


def format_count(count: int, word: str, plural: str = "") -> str:
    """Format a number with its noun.

    >>> format_count(1, "node"), format_count(1200, "node"), format_count(2, "class", "classes")
    ('1 node', '1,200 nodes', '2 classes')
    """
    return f"{count:,} {word if count == 1 else plural or word + 's'}"


def count_of_known(count: int, word: str) -> str:
    """Format how many things with a name are known, for errors about an unknown name.

    >>> count_of_known(1, "pod"), count_of_known(1200, "pod")
    ('1 pod is known', '1,200 pods are known')
    """
    return f"{format_count(count, word)} {'is' if count == 1 else 'are'} known"


def _size(count: int) -> str:
    value, power = float(abs(count)), 0
    while value >= 1024 and power < len(_UNITS) - 1:
        value /= 1024
        power += 1
    return f"{'-' if count < 0 else ''}{_short(value)} {_UNITS[power]}"


def _short(value: float) -> str:
    """Format with at most three decimals and without trailing zeros."""
    digits = 3 if abs(value) < 10 else 1
    return f"{value:,.{digits}f}".rstrip("0").rstrip(".")
