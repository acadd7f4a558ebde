"""Conversion of an API server's responses to replies of the store."""

from typing import Final

import msgspec

from stretto.api.wire.kinds import Kind
from stretto.base.errors import (
    InputError,
    NotAllowedError,
    StrettoError,
    TooOldError,
    UnreachableError,
)
from stretto.stores.kube.login.messages import HttpResponse
from stretto.stores.store import Reply, StatusReason, WriteOutcome

_SAID: Final = 300
"""Number of characters kept for the message of a response that is not a Status."""


class _Cause(msgspec.Struct, frozen=True):
    """One of several causes."""

    #: Type of the cause.
    reason: str = ""
    #: The affected field.
    field: str = ""


class _Details(msgspec.Struct, frozen=True, rename="camel"):
    """Details of a refusal."""

    #: Uid of the object.
    uid: str = ""
    #: Causes, one for each field.
    causes: tuple[_Cause, ...] = ()
    #: Seconds to wait.
    retry_after_seconds: int | None = None


_NO_DETAILS: Final = _Details()


class StatusBody(msgspec.Struct, frozen=True):
    """Kubernetes' ``Status``: the body of every response that is not an object."""

    #: Message for users.
    message: str = ""
    #: Reason, in one word.
    reason: str = ""
    #: ``Success`` or ``Failure``.
    status: str = ""
    #: HTTP status.
    code: int = 0
    #: Details.
    details: _Details | None = None

    @property
    def more(self) -> _Details:
        """The details; empty if there are none."""
        return self.details or _NO_DETAILS

    def names(self, reason: str) -> bool:
        """Return whether any cause has this reason."""
        return any(cause.reason == reason for cause in self.more.causes)


_DECODER: Final = msgspec.json.Decoder(StatusBody)


def status_of(answer: HttpResponse) -> StatusBody:
    """Return the Status of a response; other bodies are converted. The message is never empty."""
    try:
        status = _DECODER.decode(answer.body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        status = StatusBody()
    message = status.message or answer.body[:_SAID].decode("utf-8", "replace").strip()
    message = message or f"HTTP status {answer.status}"
    if answer.shown:
        message = f"{message}: {answer.shown}"
    return msgspec.structs.replace(status, message=message, code=status.code or answer.status)


def refused_reply(answer: HttpResponse, what: str) -> Reply:
    """Return the reply to a write that the server has certainly not executed.

    Args:
        answer: the response.
        what: the write in words, such as ``create pods``.
    """
    status = status_of(answer)
    retry_after = answer.retry_after
    match answer.status:
        case 401 | 403:
            return Reply(WriteOutcome.REFUSED, StatusReason.FORBIDDEN, forbidden(what, status))
        case 404:
            return Reply(WriteOutcome.REFUSED, StatusReason.NOT_FOUND, status.message)
        case 409 if status.reason == "AlreadyExists":
            return Reply(WriteOutcome.CONFLICT, StatusReason.ALREADY_EXISTS, status.message)
        case 409:
            return Reply(WriteOutcome.CONFLICT, StatusReason.CONFLICT, status.message)
        case 422 if _is_about_uid(status):
            return Reply(WriteOutcome.CONFLICT, StatusReason.CONFLICT, status.message)
        case 429:
            seconds = status.more.retry_after_seconds
            wait = retry_after if retry_after is not None else seconds
            text = status.message
            return Reply(
                WriteOutcome.REFUSED, StatusReason.TOO_MANY_REQUESTS, text, retry_after=wait
            )
        case code if 300 <= code < 400:
            text = f"{what}: the server answered with a redirect, which is not followed"
            return Reply(WriteOutcome.REFUSED, StatusReason.INVALID, text)
    return Reply(WriteOutcome.REFUSED, StatusReason.INVALID, status.message)


def unknown_reply(what: str, why: str) -> Reply:
    """Return the reply to a write that may have been executed."""
    text = f"{what}: the answer is lost ({why}); read the object back before deciding"
    return Reply(WriteOutcome.UNKNOWN, StatusReason.TIMEOUT, text)


def unsent_reply(what: str, why: str) -> Reply:
    """Return the reply to a write that was not sent."""
    text = f"{what}: nothing was sent ({why}); try again later"
    return Reply(WriteOutcome.REFUSED, StatusReason.UNAVAILABLE, text)


def forbidden(what: str, status: StatusBody) -> str:
    """The message of a missing permission, with verb, resource and remedy."""
    text = status.message or "the token or certificate is not accepted"
    if status.code == 401 or status.reason == "Unauthorized":
        return f"{what} is not allowed: {text}; the login is not (or no longer) accepted"
    return f"{what} is not allowed: {text}; grant it by a Role or ClusterRole (verb and resource)"


def read_error(kind: Kind, verb: str, answer: HttpResponse) -> StrettoError:
    """Return the error of a failed read."""
    status = status_of(answer)
    what = f"{verb} {kind.resource}"
    match answer.status:
        case 401 | 403:
            text = forbidden(what, status).removeprefix(f"{what} is not allowed: ")
            return NotAllowedError(what, text)
        case 410:
            return TooOldError("the page token", "a restarted list")
        case code if code >= 500 or code == 429:
            return UnreachableError(what, status.message)
    hint = "" if status.reason else "does this address lead to a Kubernetes API server?"
    return InputError(what, status.message, "what an API server can select", hint)


def _is_about_uid(status: StatusBody) -> bool:
    """Return whether only the uid differed: another object has this name now."""
    causes = status.more.causes
    return bool(causes) and all(cause.field == "metadata.uid" for cause in causes)
