"""Reasons why the call of a webhook has no review, in the words of kube-apiserver's client."""

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from stretto.api.checks.fields.errors import quoted
from stretto.stores.webhooks import WebhookAnswer, WebhookCall, WebhookFault

_STATUSES: Final[Mapping[int, str]] = {
    400: "the server rejected our request for an unknown reason",
    401: "the server has asked for the client to provide credentials",
    404: "the server could not find the requested resource",
    405: "the server does not allow this method on the requested resource",
    409: "the server reported a conflict",
    422: "the server rejected our request due to an error in our request",
    429: "the server has received too many requests and has asked us to try again later",
    503: "the server is currently unable to handle the request",
    504: (
        "the server was unable to return a response in the time allotted, but may still be "
        "processing the request"
    ),
}
"""Messages of failures, by HTTP status."""


def call_problem(call: WebhookCall, answer: WebhookAnswer) -> str:
    """Return why a call has no usable answer; empty if it has one."""
    if answer.status:
        return "" if 200 <= answer.status < 300 else _of_status(answer)
    if not answer.problem:
        return "" if answer.body else _EMPTY
    return f'Post "{call.url}": {_of_connection(call, answer)}'


_EMPTY: Final = "0-length response with status code: 200 and content type: application/json"


_UNKNOWN: Final = "unknown"


def _of_connection(call: WebhookCall, answer: WebhookAnswer) -> str:
    """Return why no answer was received."""
    parts = urlsplit(call.url)
    texts = {
        WebhookFault.TIMEOUT: "context deadline exceeded",
        WebhookFault.REFUSED: f"dial tcp {parts.netloc}: connect: connection refused",
        WebhookFault.UNKNOWN_HOST: f"dial tcp: lookup {parts.hostname}: no such host",
        WebhookFault.UNTRUSTED: (
            "tls: failed to verify certificate: x509: certificate signed by unknown authority"
        ),
    }
    return texts.get(answer.fault, answer.problem)


def _of_status(answer: WebhookAnswer) -> str:
    """Return the message of an answer with an error status."""
    stated = _status_message(answer.body)
    said = answer.body.decode("utf-8", "replace").strip() if answer.is_text else _UNKNOWN
    if stated:
        return stated
    if answer.status == 403 and said:
        return said
    if answer.status in _STATUSES:
        return _STATUSES[answer.status]
    if answer.status >= 500:
        shown = quoted(said or _UNKNOWN)
        return f"an error on the server ({shown}) has prevented the request from succeeding"
    text = "the server responded with the status code"
    return f"{text} {answer.status} but did not return more information"


def _status_message(body: bytes) -> str:
    """Return the message of a ``Status``; empty for anything else."""
    try:
        found: Any = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return ""
    if not isinstance(found, dict) or found.get("kind") != "Status":
        return ""
    return str(found.get("message") or "")
