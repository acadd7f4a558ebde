"""Failures as Kubernetes' ``Status`` with reason, details and code."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from stretto.api.schema.types import StructType
from stretto.api.schema.unstructured import object_fault
from stretto.api.wire.kinds import Kind

Fields = dict[str, Any]

_RETRY_SECONDS: Final = 1


class ApiError(Exception):
    """A request fails; the error becomes a ``Status`` object.

    The functions of this module create further errors.
    """

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        details: Mapping[str, Any] | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        #: HTTP status.
        self.code = code
        #: Reason of the status; empty for none.
        self.reason = reason
        #: Message for users.
        self.message = message
        #: Details; ``None`` for none.
        self.details = details
        #: Metadata of the status.
        self.metadata = metadata or {}

    @property
    def headers(self) -> dict[str, str]:
        """Headers of the failure."""
        seconds = (self.details or {}).get("retryAfterSeconds")
        return {"Retry-After": str(seconds)} if seconds else {}


class DeniedError(ApiError):
    """The user may not send the request."""

    @property
    def headers(self) -> dict[str, str]:
        """Headers of the failure."""
        return {"X-Content-Type-Options": "nosniff"}


class WarnedError(ApiError):
    """A request fails after warnings were recorded."""

    def __init__(self, error: ApiError, warnings: Sequence[str]) -> None:
        super().__init__(error.code, error.reason, error.message, error.details, error.metadata)
        #: Warnings for the client.
        self.warnings = tuple(warnings)


class PlainError(Exception):
    """A request fails with plain text instead of a ``Status``."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        #: HTTP status.
        self.code = code
        #: The body.
        self.text = text


def status_of(error: ApiError) -> Fields:
    """Return the ``Status`` object of a failure."""
    status: Fields = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": dict(error.metadata),
        "status": "Failure",
        "message": error.message,
    }
    if error.reason:
        status["reason"] = error.reason
    if error.details is not None:
        status["details"] = dict(error.details)
    return {**status, "code": error.code}


def qualified(group: str, resource: str) -> str:
    """A resource with its group: ``deployments.apps``."""
    return f"{resource}.{group}" if group else resource


def details_of(group: str, resource: str, name: str = "") -> Fields:
    """Details with group, resource and name of an object."""
    found: Fields = {}
    if name:
        found["name"] = name
    if group:
        found["group"] = group
    if resource:
        found["kind"] = resource
    return found


def bad_request(message: str) -> ApiError:
    """400."""
    return ApiError(400, "BadRequest", message)


def other_namespace() -> ApiError:
    """400 about an object whose namespace is not that of the path."""
    text = "the namespace of the provided object does not match the namespace sent on the request"
    return bad_request(text)


def internal(message: str) -> ApiError:
    """500 without a reason, as in kube-apiserver for errors without a status."""
    return ApiError(500, "", message)


def unconvertible(
    kind: Kind, item: Mapping[str, Any], struct: StructType, error: Exception
) -> ApiError:
    """500 about the result of an apply that does not fit its kind.

    Args:
        kind: the kind.
        item: the result.
        struct: the type of the kind.
        error: the error of its decoding, which counts if the conversion finds none.
    """
    why = object_fault(item, struct) or str(error)
    metadata, version = item.get("metadata") or {}, f"{kind.group}/{kind.version}, Kind={kind.kind}"
    key = f"{metadata.get('namespace', '')}/{metadata.get('name', '')}"
    text = f"failed to convert new object ({key}; {version}) to proper version: "
    return internal(f"{text}unable to convert unstructured object to {version}: {why}")


def failed_internally(text: str) -> ApiError:
    """500 about a failure inside the server, with its cause."""
    details = {"causes": [{"message": text}]}
    return ApiError(500, "InternalError", f"Internal error occurred: {text}", details)


def not_found(group: str, resource: str, name: str) -> ApiError:
    """404 about an object."""
    text = f'{qualified(group, resource)} "{name}" not found'
    return ApiError(404, "NotFound", text, details_of(group, resource, name))


def no_route() -> ApiError:
    """404 about a resource that is not served."""
    return ApiError(404, "NotFound", "the server could not find the requested resource", {})


def no_method() -> ApiError:
    """405."""
    text = "the server does not allow this method on the requested resource"
    return ApiError(405, "MethodNotAllowed", text, {})


def not_supported(group: str, resource: str, verb: str) -> ApiError:
    """405 about a verb of a custom kind."""
    text = f'{verb} is not supported on resources of kind "{qualified(group, resource)}"'
    return ApiError(405, "MethodNotAllowed", text, details_of(group, resource))


def not_while_ending(group: str, resource: str, verb: str) -> ApiError:
    """405 about the objects of a definition that is being deleted."""
    text = f"{verb} not allowed while custom resource definition is terminating"
    return ApiError(405, "MethodNotAllowed", text, details_of(group, resource))


def already_exists(group: str, resource: str, name: str) -> ApiError:
    """409 about an existing name."""
    text = f'{qualified(group, resource)} "{name}" already exists'
    return ApiError(409, "AlreadyExists", text, details_of(group, resource, name))


def conflict(group: str, resource: str, name: str, why: str) -> ApiError:
    """409 about a version or a precondition."""
    text = f'Operation cannot be fulfilled on {qualified(group, resource)} "{name}": {why}'
    return ApiError(409, "Conflict", text, details_of(group, resource, name))


MODIFIED: Final = (
    "the object has been modified; please apply your changes to the latest version and try again"
)
"""Reason of the conflict of a write with an old version."""


def forbidden(group: str, resource: str, name: str, why: str) -> ApiError:
    """403 about an object."""
    text = f'{qualified(group, resource)} "{name}" is forbidden: {why}'
    if not name:
        text = f"{qualified(group, resource)} is forbidden: {why}"
    return ApiError(403, "Forbidden", text, details_of(group, resource, name))


def invalid(kind: Kind, name: str, causes: Sequence[tuple[str, str, str]]) -> ApiError:
    """422 with causes ``(reason, message, field)``."""
    found = [f"{field}: {message}" if field else message for _, message, field in causes]
    texts = list(dict.fromkeys(found))
    joined = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    word = f"{kind.kind}.{kind.group}" if kind.group else kind.kind
    details = details_of(kind.group, kind.kind, name)
    details["causes"] = [
        {"reason": reason, "message": message, "field": field} for reason, message, field in causes
    ]
    return ApiError(422, "Invalid", f'{word} "{name}" is invalid: {joined}', details)


def unregistered(kind: str, version: str, prefix: str = "") -> ApiError:
    """400 about an object of an unknown kind."""
    return bad_request(prefix + no_kind(kind, version))


def no_kind(kind: str, version: str) -> str:
    """Return the message about a kind that is not registered."""
    scheme = 'in scheme "pkg/runtime/scheme.go:111"'
    return f'no kind "{kind}" is registered for version "{version}" {scheme}'


def expired(message: str) -> ApiError:
    """410."""
    return ApiError(410, "Expired", message)


def too_new(version: str, current: int) -> ApiError:
    """504 about a version that does not exist yet."""
    text = f"Timeout: Too large resource version: {version}, current: {current}"
    cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    details = {"causes": [cause], "retryAfterSeconds": _RETRY_SECONDS}
    return ApiError(504, "Timeout", text, details)
