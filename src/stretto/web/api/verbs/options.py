"""The options of a deletion: in the body of the request or in its query."""

from typing import Any, Final

import msgspec

from stretto.api.schema.decoding import DecodeError, Decoding, decode
from stretto.api.schema.kubernetes import struct
from stretto.web.api import failures
from stretto.web.api.call import Call, integer_parameter, write_options
from stretto.web.api.objects.reading import parse_body
from stretto.web.api.verbs.removal import DeleteOptions, check_options

_VERSION: Final = "meta.k8s.io/v1"


def read_options(call: Call) -> DeleteOptions:
    """Read the options in the body or in the query.

    Raises:
        ApiError: the options are malformed.
    """
    request = call.request
    options = DeleteOptions()
    if request.body:
        value, _ = parse_body(request.body, request.header("content-type"), "")
        try:
            options = msgspec.convert(value, DeleteOptions)
        except msgspec.ValidationError as error:
            raise failures.bad_request(_unread(value) or str(error)) from error
        if options.kind not in ("", "DeleteOptions"):
            raise failures.unregistered(options.kind, options.api_version or _VERSION)
    else:
        seconds = integer_parameter(request, "gracePeriodSeconds")
        if seconds is not None:
            options.grace_period_seconds = seconds
        options.propagation_policy = request.parameter("propagationPolicy") or None
        options.orphan_dependents = request.flag("orphanDependents")
        stated = {name: request.parameter(name) for name in ("uid", "resourceVersion")}
        options.preconditions = {name: each for name, each in stated.items() if each} or None
    dry_run = options.dry_run or [] if request.body else None
    call.options = write_options(request, "delete", dry_run)
    check_options(options)
    return options


def _unread(value: Any) -> str:
    """Return why options cannot be read, in the words of Go's decoder; empty if they can."""
    try:
        decode(value, struct("meta/v1.DeleteOptions"), Decoding())
    except DecodeError as error:
        return str(error)
    return ""
