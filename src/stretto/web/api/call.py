"""One request during its processing in the server."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from stretto.api.checks.fields.errors import quoted
from stretto.api.wire.durations import duration_problem
from stretto.api.wire.kinds import Kind
from stretto.api.wire.selectors import integer
from stretto.web.api.authn.users import User
from stretto.web.api.failures import bad_request, invalid
from stretto.web.api.message import ApiRequest
from stretto.web.api.resources import ServedResource
from stretto.web.api.routes import Route

_VALIDATIONS: Final = ("Ignore", "Warn", "Strict")
_MAX_MANAGER: Final = 128
_MOST_DIGITS: Final = 20
"""Maximum digits of an unsigned 64-bit number."""


STREAMED_PARTS: Final = ("attach", "exec", "log", "portforward", "proxy")
"""Subresources whose requests have no time limit."""


class WriteOptions(msgspec.Struct, frozen=True):
    """Options of a write."""

    #: True if nothing is stored.
    dry_run: bool = False
    #: Name of the field manager; empty: from the user agent.
    manager: str = ""
    #: The handling of unknown fields.
    validation: str = "Warn"
    #: True if an apply takes over fields of other managers; ``None`` if not specified.
    force: bool | None = None


_NO_OPTIONS: Final = WriteOptions()
"""Options of a request without a query."""


@dataclass
class Call:
    """A request with the results of its processing so far."""

    #: The request.
    request: ApiRequest
    #: Parts of its path.
    route: Route
    #: The resource.
    resource: ServedResource
    #: Verb of RBAC.
    verb: str
    #: The user.
    user: User
    #: Options of a write.
    options: WriteOptions = _NO_OPTIONS
    #: Warnings for the client.
    warnings: list[str] = field(default_factory=list)
    #: The written object before it is decoded, possibly as JSON; ``None`` before it is read.
    sent: Any = None

    @property
    def manager(self) -> str:
        """The field manager of the write."""
        return self.options.manager or agent_name(self.request.header("user-agent"))


def agent_name(agent: str) -> str:
    """The field manager of a user agent: the part before the slash."""
    name = agent.partition("/")[0]
    if not name.isprintable():
        name = "".join(each for each in name if each.isprintable())
    return name.encode()[:_MAX_MANAGER].decode(errors="ignore") or "unknown"


def write_options(
    request: ApiRequest, verb: str, dry_run: Sequence[str] | None = None
) -> WriteOptions:
    """The options in the query.

    Args:
        request: the request.
        verb: its verb.
        dry_run: ``dryRun`` in the body of a deletion, which takes precedence over the query;
            ``None`` without.

    Raises:
        ApiError: an option has an unknown value.
    """
    if not request.query and dry_run is None:
        return _NO_OPTIONS
    words = {"create": "CreateOptions", "patch": "PatchOptions", "update": "UpdateOptions"}
    kind = Kind("meta.k8s.io", "v1", words.get(verb, "DeleteOptions"), "")
    causes = []
    dry = request.query.get("dryRun") or () if dry_run is None else dry_run
    if dry and set(dry) != {"All"}:
        causes.append(_unsupported("dryRun", f"[{','.join(map(quoted, dry))}]", ["All"]))
    is_deletion = kind.kind == "DeleteOptions"
    validation = "" if is_deletion else request.parameter("fieldValidation")
    if validation and validation not in _VALIDATIONS:
        allowed = ["", *sorted(_VALIDATIONS)]
        causes.append(_unsupported("fieldValidation", f'"{validation}"', allowed))
    manager = "" if is_deletion else request.parameter("fieldManager")
    if len(manager) > _MAX_MANAGER:
        text = f"Too long: may not be more than {_MAX_MANAGER} bytes"
        causes.append(("FieldValueTooLong", text, "fieldManager"))
    causes += _unprintable(manager)
    if causes:
        raise invalid(kind, "", causes)
    return WriteOptions(bool(dry), manager, validation or "Warn", request.flag("force"))


def _unsupported(name: str, shown: str, allowed: Sequence[str]) -> tuple[str, str, str]:
    text = f"Unsupported value: {shown}: supported values: {_listed(allowed)}"
    return "FieldValueNotSupported", text, name


def _listed(values: Sequence[str]) -> str:
    return ", ".join(f'"{each}"' for each in values)


def integer_parameter(request: ApiRequest, name: str) -> int | None:
    """Return a query parameter as a 64-bit number; ``None`` without it.

    Raises:
        ApiError: the parameter is not a number.
    """
    text = request.parameter(name)
    number = integer(text)
    if text and number is None:
        why = "value out of range" if text.lstrip("+-").isdigit() else "invalid syntax"
        raise bad_request(f'strconv.ParseInt: parsing "{text}": {why}')
    return number


def version_number(text: str) -> int:
    """Parse a resource version.

    Raises:
        ValueError: the text is no unsigned 64-bit number; the message is that of Go.
    """
    is_number = text.isascii() and text.isdigit()
    if is_number and len(text.lstrip("0")) <= _MOST_DIGITS and int(text) < 1 << 64:
        return int(text)
    why = "value out of range" if is_number else "invalid syntax"
    raise ValueError(f'strconv.ParseUint: parsing "{text}": {why}')


def check_timeout(request: ApiRequest, route: Route | None, verb: str) -> None:
    """Refuse a malformed ``timeout`` of a request that ends by itself.

    Raises:
        ApiError: the text is not a duration.
    """
    text = request.parameter("timeout")
    if not text or verb == "watch" or (route is not None and route.subresource in STREAMED_PARTS):
        return
    problem = duration_problem(text)
    if problem:
        raise bad_request(f"invalid timeout specified in the request URL - {problem}")


def _unprintable(manager: str) -> list[tuple[str, str, str]]:
    """Return the error about unprintable characters in a manager's name."""
    return [
        (
            "FieldValueInvalid",
            (
                f"Invalid value: {quoted(manager)}: invalid character U+{ord(each):04X} "
                f"(at position {index})"
            ),
            "fieldManager",
        )
        for index, each in enumerate(manager)
        if not each.isprintable()
    ]
