"""Reads a section of the capacity settings: its fields, and the range of each number."""

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from stretto.api.wire.refusals import refusal
from stretto.base.errors import InputError

Rules = TypeVar("Rules")


def read_section(value: Any, form: type[Rules], where: str) -> Rules:
    """Read a section as a struct.

    Raises:
        InputError: a field is unknown or has another type; the message contains its path.
    """
    try:
        return msgspec.convert(value, form)
    except msgspec.ValidationError as error:
        raise refusal(error, msgspec.json.encode(value), where, form) from error


def check_ranges(ranges: Mapping[str, tuple[float, float, float]], where: str) -> None:
    """Refuse numbers outside their range; ``ranges`` maps fields to number, minimum and maximum.

    Raises:
        InputError: a number is outside its range; the message contains the path of its field.
    """
    for field, (given, least, most) in ranges.items():
        if not least <= given <= most:
            raise InputError(f"{where}.{field}", given, f"a number from {least:g} to {most:g}")
