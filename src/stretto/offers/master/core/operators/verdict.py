"""The answer of an operator's request, before it becomes an HTTP response."""

from typing import Final

import msgspec


class OperatorVerdict(msgspec.Struct, frozen=True):
    """Status and text of an answer."""

    #: HTTP status.
    status: int = 200
    #: Text; empty if the request succeeded.
    text: str = ""


DONE: Final = OperatorVerdict()
"""The request is done."""
ACCEPTED: Final = OperatorVerdict(202)
"""The request is accepted; agents act on it."""


def bad(text: str) -> OperatorVerdict:
    """The request is invalid."""
    return OperatorVerdict(400, text)


def conflict(text: str) -> OperatorVerdict:
    """The request is valid, but the state does not allow it."""
    return OperatorVerdict(409, text)
