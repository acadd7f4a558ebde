"""Numbers separated by commas, as options of studies spell what they sweep."""

from typing import Final, TypeVar

from stretto.base.errors import InputError

Number = TypeVar("Number", int, float)

TOO_BIG: Final = 1_000_000
"""Nobody has so many schedulers, or thinks for so many seconds."""


def counts(option: str, text: str) -> tuple[int, ...]:
    """Whole numbers from 1 on, separated by commas, each once.

    Raises:
        InputError: one of them is no such number.
    """
    return _numbers(option, text, int, 1)


def seconds(option: str, text: str) -> tuple[float, ...]:
    """Numbers from 0 on, separated by commas, each once.

    Raises:
        InputError: one of them is no such number.
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
            what = "whole numbers" if low else "numbers"
            raise InputError(option, part.strip(), f"{what} from {low} on, separated by commas")
        found[number] = None
    return tuple(found)
