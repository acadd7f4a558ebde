"""The result of an operator's request, independent of HTTP responses."""

from typing import Final

import msgspec


class OperatorVerdict(msgspec.Struct, frozen=True):
    """Status and text of an answer."""

    #: HTTP status.
    status: int = 200
    #: Text; empty if the request succeeded.
    text: str = ""


DONE: Final = OperatorVerdict()
"""The request has succeeded."""
ACCEPTED: Final = OperatorVerdict(202)
"""The request is accepted; agents carry it out."""


def bad(text: str) -> OperatorVerdict:
    """Verdict for an invalid request."""
    return OperatorVerdict(400, text)


def conflict(text: str) -> OperatorVerdict:
    """Verdict for a valid request that the state does not allow."""
    return OperatorVerdict(409, text)
