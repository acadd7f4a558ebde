"""Comma-separated numbers of options that sweep a parameter."""

from typing import Final, TypeVar

from stretto.base.errors import InputError

Number = TypeVar("Number", int, float)

TOO_BIG: Final = 1_000_000
"""Exclusive upper bound of the numbers."""


def counts(option: str, text: str) -> tuple[int, ...]:
    """Parse distinct integers of at least 1, separated by commas.

    Raises:
        InputError: an element is not such a number.
    """
    return _numbers(option, text, int, 1)


def seconds(option: str, text: str) -> tuple[float, ...]:
    """Parse distinct numbers of at least 0, separated by commas.

    Raises:
        InputError: an element is not such a number.
    """
    return _numbers(option, text, float, 0)


def _numbers(option: str, text: str, kind: type[Number], low: int) -> tuple[Number, ...]:
    found: dict[Number, None] = {}
    for part in text.split(","):
        try:
            number = kind(part)
        except ValueError:
            number = kind(-1)
        if not low <= number < TOO_BIG:
            what = "integers" if low else "numbers"
            expected = f"{what} from {low} to below {TOO_BIG:,}, separated by commas"
            raise InputError(option, part.strip(), expected)
        found[number] = None
    return tuple(found)
