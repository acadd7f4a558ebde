"""Rules of the success policy of an indexed Job."""

from contextlib import suppress
from typing import Final

from stretto.api.checks.fields.errors import Errors, invalid, quoted, required, too_long, too_many
from stretto.api.checks.kinds.values import Json, not_negative
from stretto.api.schema.internals import internal_form

_RULES: Final = 20
_LENGTH: Final = 64 * 1024


class IndexesError(Exception):
    """A text is no list of indexes such as ``0,2-5``."""


def check_success(spec: Json, path: str) -> Errors:
    """Check the success policy of the spec of a Job."""
    policy = spec["successPolicy"]
    rules = policy.get("rules") or []
    if spec.get("completionMode") != "Indexed":
        quote = internal_form("batch.SuccessPolicy", policy)
        return [invalid(path, quote, "requires indexed completion mode")]
    found: Errors = []
    if not rules:
        text = "at least one rules must be specified when the successPolicy is specified"
        found.append(required(f"{path}.rules", text))
    if len(rules) > _RULES:
        found.append(too_many(f"{path}.rules", len(rules), _RULES))
    for index, rule in enumerate(rules):
        found += _rule(rule, spec.get("completions") or 0, f"{path}.rules[{index}]")
    return found


def _rule(rule: Json, completions: int, path: str) -> Errors:
    count, indexes = rule.get("succeededCount"), rule.get("succeededIndexes")
    found: Errors = []
    if count is None and indexes is None:
        text = "at least one of succeededCount or succeededIndexes must be specified"
        found.append(required(path, text))
    total = 0
    if indexes is not None:
        where = f"{path}.succeededIndexes"
        if len(indexes) > _LENGTH:
            found.append(too_long(where, _LENGTH))
        try:
            total = count_indexes(indexes, completions)
        except IndexesError as error:
            found.append(invalid(where, indexes, f"error parsing succeededIndexes: {error}"))
    if count is not None:
        where = f"{path}.succeededCount"
        found += not_negative(count, where)
        most = "must be less than or equal to"
        if count > completions:
            text = f"{most} {completions} (the number of specified completions)"
            found.append(invalid(where, count, text))
        if indexes is not None and count > total:
            text = f"{most} {total} (the number of indexes in the specified succeededIndexes field)"
            found.append(invalid(where, count, text))
    return found


def count_indexes(text: str, completions: int) -> int:
    """Return the number of indexes in a text such as ``0,2-5``.

    Raises:
        IndexesError: the text is malformed, or the indexes do not increase below the completions.
    """
    total, last = 0, -1
    for part in text.split(",") if text else ():
        first, end = _interval(part, completions)
        if total and last >= first:
            raise IndexesError(f"non-increasing order, previous: {last}, current: {first}")
        total, last = total + end - first + 1, end
    return total


def index_overlap(one: str, other: str, completions: int) -> int | None:
    """Return the first index that is in both of two texts; malformed intervals are skipped."""
    left, right = _intervals(one, completions), _intervals(other, completions)
    while left and right:
        if left[0][0] <= right[0][1] and right[0][0] <= left[0][1]:
            return max(left[0][0], right[0][0])
        (left if left[0][0] <= right[0][0] else right).pop(0)
    return None


def _intervals(text: str, completions: int) -> list[tuple[int, int]]:
    found = []
    for part in text.split(",") if text else ():
        with suppress(IndexesError):
            found.append(_interval(part, completions))
    return found


def _interval(part: str, completions: int) -> tuple[int, int]:
    limits = part.split("-")
    if len(limits) > 2:
        raise IndexesError(
            f"the fragment {quoted(part)} violates the requirement that an index interval can have "
            "at most two parts separated by '-'"
        )
    numbers = [_index(each, completions) for each in limits]
    if len(numbers) == 2 and numbers[0] >= numbers[1]:
        raise IndexesError(f"non-increasing order, previous: {numbers[0]}, current: {numbers[1]}")
    return numbers[0], numbers[-1]


def _index(text: str, completions: int) -> int:
    if not text.removeprefix("+").isdecimal() or not text.isascii():
        raise IndexesError(f"cannot convert string to integer for index: {quoted(text)}")
    if int(text) >= completions:
        raise IndexesError(f"too large index: {quoted(text)}")
    return int(text)
