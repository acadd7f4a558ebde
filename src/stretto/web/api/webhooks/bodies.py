"""Bodies of webhook answers: reviews of one kind, decoded as in kube-apiserver."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from stretto.api.schema.golang import json_type
from stretto.web.api.failures import no_kind

Json = dict[str, Any]


class BadAnswerError(Exception):
    """An answer is not a review, or not a usable one; the message contains the reason."""


@dataclass(frozen=True)
class ReviewKind:
    """A kind of reviews."""

    #: API group.
    group: str
    #: Kind.
    kind: str
    #: Supported versions.
    versions: tuple[str, ...]


def review_of(body: bytes, known: ReviewKind, version: str) -> Json:
    """Return the review in the body of an answer; its kind is optional.

    Args:
        body: the body.
        known: the kind of review.
        version: the version of the sent review.

    Raises:
        BadAnswerError: the body is not such a review.
    """
    try:
        review = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        review = ""
    if not isinstance(review, dict):
        raise BadAnswerError(
            "couldn't get version/kind; json parse error: json: cannot unmarshal "
            f"{json_type(review)} into Go value of type struct {{ APIVersion string "
            '"json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
        )
    stated, kind = review.get("apiVersion") or "", review.get("kind") or ""
    group, _, last = str(stated).rpartition("/")
    if (stated or kind) and (stated, kind) != (f"{known.group}/{version}", known.kind):
        if (group, kind) == (known.group, known.kind) and last in known.versions:
            text = f"converting ({last}.{kind}) to ({version}.{kind}): unknown conversion"
            raise BadAnswerError(text)
        raise BadAnswerError(no_kind(kind, stated))
    return review


def check_types(response: Any, field: str, members: Mapping[str, tuple[type, str]]) -> None:
    """Refuse a response whose members have wrong types.

    Args:
        response: the response.
        field: its field and type in Go, such as ``AdmissionReview.response of type v1.Response``.
        members: the types of members in Python and in Go.

    Raises:
        BadAnswerError: a member has a wrong type.
    """
    head = "json: cannot unmarshal"
    if not isinstance(response, dict):
        raise BadAnswerError(f"{head} {json_type(response)} into Go struct field {field}")
    owner = field.rpartition(".")[2]
    path = field.partition(" ")[0].partition(".")[2]
    for name, (kind, word) in members.items():
        value = response.get(name)
        if value is not None and not isinstance(value, kind):
            place = f"{owner}.{path}.{name} of type {word}"
            raise BadAnswerError(f"{head} {json_type(value)} into Go struct field {place}")
