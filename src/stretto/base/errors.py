"""The error hierarchy of Stretto, and the exit code of each class.

An error has fields and builds its message from them. Programs read the fields; users read the
message: what failed, where, what was expected, what to do. A scheduling verdict on a pod is never
an error; errors are for bad input, I/O and bugs.

    StrettoError                      1  any other failure
    ├── InputError                    2  a file, a field or an option is invalid
    ├── UnknownNameError              2  no such policy, plugin, CRD, ... (suggests the nearest)
    ├── MissingExtraError             2  an optional dependency is not installed
    ├── DoesNotFitError               3  pods do not fit, and all were required to
    ├── TimeoutExpiredError           4  the time limit was exceeded
    ├── NotAllowedError               5  permission or admission refused the request
    ├── NotFoundError                 6  no such object: pod, node, run
    ├── ConflictError                 7  another client changed the object first
    ├── UnreachableError              8  the server does not answer
    ├── CheckFailedError              9  a requested check failed
    │   └── InvariantBrokenError      9  an invariant of the scheduler is broken: a bug
    ├── TooOldError                   1  the watch history is truncated: list again
    ├── WentBackError                 1  the store returns older versions than before: restart
    └── InvalidTransitionError        1  a state machine has no such transition
"""

from collections.abc import Iterable, Sequence
from enum import Enum, IntEnum
from typing import ClassVar

from stretto.base.nearest import nearest


class ExitCode(IntEnum):
    """Exit code of a command."""

    OK = 0
    ERROR = 1
    #: Wrong usage or bad input, including a missing or unreadable file.
    USAGE = 2
    #: Pods do not fit, and all of them were required to.
    DOES_NOT_FIT = 3
    TIMEOUT = 4
    NOT_ALLOWED = 5
    #: No such pod, node or run.
    NOT_FOUND = 6
    CONFLICT = 7
    #: The server does not answer.
    UNREACHABLE = 8
    CHECK_FAILED = 9
    #: Ctrl-C: 128 + SIGINT, as in every shell. A partial report is written.
    INTERRUPTED = 130


#: A value quoted in a message is truncated to this length, so that a binary file does not fill the
#: screen.
QUOTED_CHARS = 60
#: A name in a message is truncated to this length; the longest names of Kubernetes with their
#: namespace and kind are shorter.
NAME_CHARS = 400


class StrettoError(Exception):
    """Base class of every error that Stretto raises on purpose.

    The fields of an error are also its `args`, so that an error can be pickled between processes.
    """

    exit_code: ClassVar[ExitCode] = ExitCode.ERROR


class InputError(StrettoError):
    """An input value is invalid."""

    exit_code = ExitCode.USAGE

    def __init__(self, where: str, value: object, expected: str, hint: str = "") -> None:
        super().__init__(where, value, expected, hint)
        #: File, line and column; or the path of the field; or the option.
        self.where = where
        #: The invalid value; None if there was none.
        self.value = value
        #: The valid form.
        self.expected = expected
        #: Remedy.
        self.hint = hint

    def __str__(self) -> str:
        found = "got nothing" if self.value is None else f"got {quoted(self.value)}"
        return with_hint(f"{self.where}: {found}, expected {self.expected}", self.hint)

    def inside(self, place: str) -> "InputError":
        """Return the same error with an outer place prepended to its location."""
        return InputError(f"{place}: {self.where}", self.value, self.expected, self.hint)


class UnknownNameError(StrettoError):
    """A name that no table contains; the message suggests the nearest known names."""

    exit_code = ExitCode.USAGE

    def __init__(self, kind: str, name: str, known: Iterable[str], where: str = "") -> None:
        self.known: tuple[str, ...] = tuple(sorted(known))
        super().__init__(kind, name, self.known, where)
        #: Category of the name: "policy", "plugin", ...
        self.kind = kind
        #: The unknown name.
        self.name = name
        #: Location of the name; empty if the command line contains it.
        self.where = where

    @property
    def nearest(self) -> tuple[str, ...]:
        """Up to three similar known names, the best match first."""
        return tuple(nearest(self.name, self.known))

    def __str__(self) -> str:
        text = f"unknown {self.kind} {quoted(self.name)}"
        text = f"{text} in {self.where}" if self.where else text
        if self.nearest:
            return with_hint(text, suggestion(self.nearest))
        return f"{text}; known: {', '.join(self.known) or 'none'}"


class MissingExtraError(StrettoError):
    """An optional dependency is missing; the message contains the extra that installs it."""

    exit_code = ExitCode.USAGE

    def __init__(self, what: str, extra: str, hint: str = "") -> None:
        super().__init__(what, extra, hint)
        #: The feature that needs the extra: a command, an option, a tier.
        self.what = what
        #: Name of the extra in pyproject.toml.
        self.extra = extra
        #: Alternative to the installation.
        self.hint = hint

    def __str__(self) -> str:
        text = f"{self.what} needs the extra {self.extra}: pip install 'stretto[{self.extra}]'"
        return with_hint(text, self.hint)


class _ReasonError(StrettoError):
    """Common fields of the errors below: the object or action, the reason, and a remedy."""

    _verb: ClassVar[str] = ""

    def __init__(self, what: str, reason: str = "", hint: str = "") -> None:
        super().__init__(what, reason, hint)
        #: The object or action that failed.
        self.what = what
        #: Reason of the failure; empty if the class explains it.
        self.reason = reason
        #: Remedy.
        self.hint = hint

    def __str__(self) -> str:
        text = f"{printable(self.what)} {self._verb}".rstrip()
        return with_hint(f"{text}: {self.reason}" if self.reason else text, self.hint)


class DoesNotFitError(_ReasonError):
    """Some pods fit on no node, and the caller required all of them to be placed."""

    exit_code = ExitCode.DOES_NOT_FIT
    _verb = "cannot be placed"


class TimeoutExpiredError(_ReasonError):
    """The time limit was exceeded."""

    exit_code = ExitCode.TIMEOUT
    _verb = "took too long"


class NotAllowedError(_ReasonError):
    """Permission, admission or a rule of a profile refused the request; a retry does not help."""

    exit_code = ExitCode.NOT_ALLOWED
    _verb = "is not allowed"


class NotFoundError(_ReasonError):
    """No such object."""

    exit_code = ExitCode.NOT_FOUND
    _verb = "was not found"


class ConflictError(_ReasonError):
    """Another client changed the object first: read the object again, then decide again."""

    exit_code = ExitCode.CONFLICT
    _verb = "was changed by another client"


class UnreachableError(_ReasonError):
    """The server does not answer; a later retry may succeed."""

    exit_code = ExitCode.UNREACHABLE
    _verb = "cannot be reached"


class CheckFailedError(_ReasonError):
    """A requested check failed."""

    exit_code = ExitCode.CHECK_FAILED
    _verb = "does not hold"


class InvariantBrokenError(CheckFailedError):
    """An invariant of the scheduler is broken: always a bug, never a user error."""

    _verb = "is broken"


class TooOldError(StrettoError):
    """The history that a watch needs is no longer available: list again, then watch from there."""

    def __init__(self, requested: str, oldest: str) -> None:
        super().__init__(requested, oldest)
        #: The requested resourceVersion.
        self.requested = requested
        #: The oldest resourceVersion that a watch can start from.
        self.oldest = oldest

    def __str__(self) -> str:
        return (
            f"resourceVersion {quoted(self.requested)} is too old, history starts at "
            f"{quoted(self.oldest)}; list again and watch from the list's version"
        )


class WentBackError(StrettoError):
    """A store keeps returning older versions than before.

    Followers must restart from a fresh list.
    """


class InvalidTransitionError(StrettoError):
    """A state machine has no transition for an event in its current state."""

    def __init__(self, machine: str, state: Enum, event: Enum, allowed: Sequence[Enum]) -> None:
        super().__init__(machine, state, event, tuple(allowed))
        #: Name of the machine.
        self.machine = machine
        #: The current state.
        self.state = state
        #: The event.
        self.event = event
        #: The events allowed in this state.
        self.allowed = tuple(allowed)

    def __str__(self) -> str:
        names = ", ".join(event.name for event in self.allowed) or "nothing (it is final)"
        return f"{self.machine}: {self.event.name} in state {self.state.name}, allowed: {names}"


def quoted(value: object) -> str:
    """Format a value for a message: its repr, truncated if long.

    >>> quoted("gpu")
    "'gpu'"
    """
    text = repr(value)
    return text if len(text) <= QUOTED_CHARS else f"{text[:QUOTED_CHARS]}…"


def printable(name: str) -> str:
    r"""Return a name from the outside for a message: without control characters, and not too long.

    >>> printable("pod web-1"), printable("pod web\n")
    ('pod web-1', 'pod web\\n')
    """
    text = "".join(each if each.isprintable() else repr(each)[1:-1] for each in name[:NAME_CHARS])
    return text if len(name) <= NAME_CHARS else f"{text}…"


def with_hint(text: str, hint: str) -> str:
    """Append a hint to a sentence, if there is one.

    >>> with_hint("no space left", "free some")
    'no space left; free some'
    """
    return f"{text}; {hint}" if hint else text


def suggestion(names: Sequence[str], otherwise: str = "") -> str:
    """Format names as a question; return another hint if there is no name.

    >>> suggestion(["web-1", "web-2"])
    'did you mean web-1 or web-2?'
    """
    return f"did you mean {' or '.join(names)}?" if names else otherwise


def did_you_mean(value: object, known: Iterable[str], otherwise: str = "") -> str:
    """Format the nearest known name as a question; return another hint if none is near.

    >>> did_you_mean("cout", ["count", "cpu"])
    "did you mean 'count'?"
    """
    return suggestion([quoted(each) for each in nearest(str(value), known, 1)], otherwise)
