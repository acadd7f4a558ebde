"""The errors of Stretto, one tree, and the exit codes they end a command with.

An error carries fields and builds its message from them, so that a caller reads the fields
and a person reads the sentence: what, where, what was expected, what to do. A verdict on a pod
is never an error; errors are for bad input, I/O and bugs.

    StrettoError                      1  something went wrong
    ├── InputError                    2  a file, a field or an option cannot be used
    ├── UnknownNameError              2  no such policy, plugin, kind, ... (names the nearest)
    ├── MissingExtraError             2  an optional dependency is not installed
    ├── DoesNotFitError               3  pods do not fit, and all were required to
    ├── TimeoutExpiredError           4  it took longer than was allowed
    ├── NotAllowedError               5  permission or admission said no
    ├── NotFoundError                 6  no such object: pod, node, run
    ├── ConflictError                 7  somebody else changed it first
    ├── UnreachableError              8  the server does not answer
    ├── CheckFailedError              9  a check that was asked for did not hold
    │   └── InvariantBrokenError      9  a law of the scheduler is broken: a bug
    ├── TooOldError                   1  watch history is gone: list again
    ├── WentBackError                 1  the store shows older versions than before: begin anew
    └── InvalidTransitionError        1  a state machine was asked for a move it does not have
"""

import difflib
from collections.abc import Iterable, Sequence
from enum import Enum, IntEnum
from typing import ClassVar


class ExitCode(IntEnum):
    """What a command ends with."""

    OK = 0
    ERROR = 1
    #: Wrong usage or bad input, a missing or unreadable file included.
    USAGE = 2
    #: Pods do not fit, where all of them were required to.
    DOES_NOT_FIT = 3
    TIMEOUT = 4
    NOT_ALLOWED = 5
    #: No such pod, node or run.
    NOT_FOUND = 6
    CONFLICT = 7
    #: The server does not answer.
    UNREACHABLE = 8
    CHECK_FAILED = 9
    #: Ctrl-C: what 128 + SIGINT is in every shell. A partial report is kept.
    INTERRUPTED = 130


#: A value quoted in a message is cut here, so that a binary file does not fill the screen.
QUOTED_CHARS = 60


class StrettoError(Exception):
    """The root: every error that Stretto raises on purpose.

    The fields of an error are its `args` too, so that it crosses the border of a process.
    """

    exit_code: ClassVar[ExitCode] = ExitCode.ERROR


class InputError(StrettoError):
    """Something given to us cannot be used as it is."""

    exit_code = ExitCode.USAGE

    def __init__(self, where: str, value: object, expected: str, hint: str = "") -> None:
        super().__init__(where, value, expected, hint)
        #: File, line and column; or the path of the field; or the option.
        self.where = where
        #: What was found there; None where there was nothing.
        self.value = value
        #: What would have been right.
        self.expected = expected
        #: What to do about it.
        self.hint = hint

    def __str__(self) -> str:
        found = "got nothing" if self.value is None else f"got {quoted(self.value)}"
        return with_hint(f"{self.where}: {found}, expected {self.expected}", self.hint)


class UnknownNameError(StrettoError):
    """A name that is in no table: the nearest known ones are named."""

    exit_code = ExitCode.USAGE

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        self.known: tuple[str, ...] = tuple(sorted(known))
        super().__init__(kind, name, self.known)
        #: What sort of thing was named: "policy", "plugin", ...
        self.kind = kind
        #: The name that nobody knows.
        self.name = name

    @property
    def nearest(self) -> tuple[str, ...]:
        """Up to three known names that look like it, the best first."""
        folded = {name.casefold(): name for name in self.known}
        found = difflib.get_close_matches(self.name.casefold(), folded, n=3, cutoff=0.6)
        return tuple(folded[name] for name in found)

    def __str__(self) -> str:
        text = f"unknown {self.kind} {quoted(self.name)}"
        if self.nearest:
            return f"{text}; did you mean {' or '.join(self.nearest)}?"
        return f"{text}; known: {', '.join(self.known) or 'none'}"


class MissingExtraError(StrettoError):
    """An optional dependency is missing: the extra that installs it is named."""

    exit_code = ExitCode.USAGE

    def __init__(self, what: str, extra: str, hint: str = "") -> None:
        super().__init__(what, extra, hint)
        #: What needs it: a command, an option, a tier.
        self.what = what
        #: Name of the extra in pyproject.toml.
        self.extra = extra
        #: What to do instead.
        self.hint = hint

    def __str__(self) -> str:
        text = f"{self.what} needs the extra {self.extra}: pip install 'stretto[{self.extra}]'"
        return with_hint(text, self.hint)


class _ReasonError(StrettoError):
    """The common shape of the errors below: what, why, and what to do."""

    _verb: ClassVar[str] = ""

    def __init__(self, what: str, reason: str = "", hint: str = "") -> None:
        super().__init__(what, reason, hint)
        #: The thing or the action that it is about.
        self.what = what
        #: Why, in words; empty where the class says it all.
        self.reason = reason
        #: What to do about it.
        self.hint = hint

    def __str__(self) -> str:
        text = f"{self.what} {self._verb}".rstrip()
        return with_hint(f"{text}: {self.reason}" if self.reason else text, self.hint)


class DoesNotFitError(_ReasonError):
    """Pods are left that fit nowhere, and the caller required all of them to be placed."""

    exit_code = ExitCode.DOES_NOT_FIT
    _verb = "cannot be placed"


class TimeoutExpiredError(_ReasonError):
    """It took longer than was allowed."""

    exit_code = ExitCode.TIMEOUT
    _verb = "took too long"


class NotAllowedError(_ReasonError):
    """Permission, admission or a profile's rule said no; trying again will not help."""

    exit_code = ExitCode.NOT_ALLOWED
    _verb = "is not allowed"


class NotFoundError(_ReasonError):
    """No such object."""

    exit_code = ExitCode.NOT_FOUND
    _verb = "was not found"


class ConflictError(_ReasonError):
    """Somebody else changed it first: read it again, then decide again."""

    exit_code = ExitCode.CONFLICT
    _verb = "was changed by somebody else"


class UnreachableError(_ReasonError):
    """The server does not answer; trying again later may help."""

    exit_code = ExitCode.UNREACHABLE
    _verb = "cannot be reached"


class CheckFailedError(_ReasonError):
    """A check that was asked for did not hold."""

    exit_code = ExitCode.CHECK_FAILED
    _verb = "does not hold"


class InvariantBrokenError(CheckFailedError):
    """A law of the scheduler is broken: never the user's fault, always a bug."""

    _verb = "is broken"


class TooOldError(StrettoError):
    """The history that a watch asks for is gone: list afresh, then watch from there."""

    def __init__(self, asked: str, oldest: str) -> None:
        super().__init__(asked, oldest)
        #: The resourceVersion that was asked for.
        self.asked = asked
        #: The oldest one that a watch can still start from.
        self.oldest = oldest

    def __str__(self) -> str:
        return (
            f"resourceVersion {quoted(self.asked)} is too old, history starts at "
            f"{quoted(self.oldest)}; list again and watch from the list's version"
        )


class WentBackError(StrettoError):
    """A store shows older versions than it showed before, and goes on doing so.

    Whoever has followed it begins anew with a fresh list.
    """


class InvalidTransitionError(StrettoError):
    """A state machine was asked for a move that its table does not have."""

    def __init__(self, machine: str, state: Enum, event: Enum, allowed: Sequence[Enum]) -> None:
        super().__init__(machine, state, event, tuple(allowed))
        #: The table's name.
        self.machine = machine
        #: Where it stood.
        self.state = state
        #: What happened.
        self.event = event
        #: What may happen there.
        self.allowed = tuple(allowed)

    def __str__(self) -> str:
        names = ", ".join(event.name for event in self.allowed) or "nothing (it is final)"
        return f"{self.machine}: {self.event.name} in state {self.state.name}, allowed: {names}"


def quoted(value: object) -> str:
    """A value as it is shown in a message: quoted, and cut where it is long.

    >>> quoted("gpu")
    "'gpu'"
    """
    text = repr(value)
    return text if len(text) <= QUOTED_CHARS else f"{text[:QUOTED_CHARS]}…"


def with_hint(text: str, hint: str) -> str:
    """A sentence with what to do about it behind, where there is something to do.

    >>> with_hint("no space left", "free some")
    'no space left; free some'
    """
    return f"{text}; {hint}" if hint else text
