"""Schedules of CronJobs: five fields, or a descriptor such as ``@daily``."""

from typing import Final, NamedTuple

from stretto.api.wire.durations import duration_problem

_DESCRIPTORS: Final = frozenset(
    {"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"}
)
_EVERY: Final = "@every "
_FIELDS: Final = 5
_DIGITS: Final = 18
"""Maximum number of digits of a number that certainly fits into 64 bits."""


class _Bounds(NamedTuple):
    """The valid values of one field."""

    #: Smallest value.
    low: int
    #: Largest value.
    high: int
    #: Names of values, starting at the smallest.
    names: tuple[str, ...] = ()


_MONTHS: Final = (
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
)  # fmt: skip
_DAYS: Final = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_RANGES: Final = (
    _Bounds(0, 59),
    _Bounds(0, 23),
    _Bounds(1, 31),
    _Bounds(1, 12, _MONTHS),
    _Bounds(0, 6, _DAYS),
)


def schedule_problem(schedule: str) -> str:
    """Return the error of Kubernetes' parser for a schedule; empty if it is valid."""
    if schedule.startswith("@"):
        return _descriptor_problem(schedule)
    fields = schedule.split()
    if len(fields) != _FIELDS:
        return f"expected exactly {_FIELDS} fields, found {len(fields)}: [{' '.join(fields)}]"
    for field, bounds in zip(fields, _RANGES, strict=True):
        for part in dict.fromkeys(field.split(",")):
            problem = _part_problem(part, bounds) if part else ""
            if problem:
                return problem
    return ""


def _descriptor_problem(schedule: str) -> str:
    if schedule in _DESCRIPTORS:
        return ""
    if schedule.startswith(_EVERY):
        problem = duration_problem(schedule.removeprefix(_EVERY))
        return f"failed to parse duration {schedule}: {problem}" if problem else ""
    return f"unrecognized descriptor: {schedule}"


def _part_problem(part: str, bounds: _Bounds) -> str:
    """Return the problem of one item of a field: a value or a range, each with an optional step."""
    span, *steps = part.split("/")
    ends = span.split("-")
    if len(steps) > 1:
        return f"too many slashes: {part}"
    if len(ends) > 2:
        return f"too many hyphens: {part}"
    if ends[0] in ("*", "?"):
        low, high = bounds.low, bounds.high
    else:
        numbers = []
        for text in ends:
            number = _number(text, bounds)
            if isinstance(number, str):
                return number
            numbers.append(number)
        low, high = numbers[0], numbers[-1]
    step: int | str = 1
    if steps:
        step = _number(steps[0], _Bounds(0, 0))
        if isinstance(step, str):
            return step
        high = bounds.high if len(ends) == 1 else high
    if low < bounds.low:
        return f"beginning of range ({low}) below minimum ({bounds.low}): {part}"
    if high > bounds.high:
        return f"end of range ({high}) above maximum ({bounds.high}): {part}"
    if low > high:
        return f"beginning of range ({low}) beyond end of range ({high}): {part}"
    return f"step of range should be a positive number: {part}" if step == 0 else ""


def _number(text: str, bounds: _Bounds) -> int | str:
    """Parse a number or a name into a number; otherwise return the problem."""
    if text.lower() in bounds.names:
        return bounds.low + bounds.names.index(text.lower())
    if text.isascii() and text.isdigit():
        if len(text.lstrip("0")) <= _DIGITS:
            return int(text.lstrip("0") or "0")
        return (
            f'failed to parse int from {text}: strconv.Atoi: parsing "{text}": value out of range'
        )
    if text.startswith("-") and text[1:].isdigit():
        return f"negative number ({text}) not allowed: {text}"
    return f'failed to parse int from {text}: strconv.Atoi: parsing "{text}": invalid syntax'
