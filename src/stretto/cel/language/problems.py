"""Problems of expressions, in the form in which cel-go shows them."""

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

_MOST_LINE: Final = 16_384
"""Maximum characters of a line that a problem shows."""
_MOST_PROBLEMS: Final = 100


@dataclass(frozen=True)
class Problem:
    """A problem at a place of an expression."""

    #: Offset of the place in the source.
    offset: int
    #: Text of the problem.
    text: str


def display(source: str, problems: Iterable[Problem]) -> str:
    """Return problems in the order of their places, each with its line."""
    starts = [0, *(index + 1 for index, each in enumerate(source) if each == "\n")]
    found = sorted(problems, key=lambda each: each.offset)
    shown = [_shown(source, starts, each) for each in found[:_MOST_PROBLEMS]]
    more = len(found) - _MOST_PROBLEMS
    return "\n".join([*shown, f"{more} more errors were truncated"] if more > 0 else shown)


def _shown(source: str, starts: list[int], problem: Problem) -> str:
    if not source:
        return f"ERROR: <input>:1:0: {problem.text}"  # an empty expression has no column
    row = bisect_right(starts, problem.offset)
    column = problem.offset - starts[row - 1]
    line = source[starts[row - 1] :].partition("\n")[0].replace("\t", " ")
    head = f"ERROR: <input>:{row}:{column + 1}: {problem.text}"
    if len(line.encode()) > _MOST_LINE:
        return head
    dots = "".join("." if each.isascii() else "．" for each in line[:column])
    at = line[column : column + 1]
    mark = "^" if not at or at.isascii() else "＾"
    return f"{head}\n | {line}\n | {dots}{mark}"
