"""Reviews of conversions (``apiextensions.k8s.io``): requests and answers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from stretto.api.schema.golang import json_type
from stretto.web.api.crds.conversion.metadata import identity_problem, metadata_problem
from stretto.web.api.webhooks.bodies import BadAnswerError, ReviewKind, check_types, review_of

Json = dict[str, Any]

REVIEW: Final = ReviewKind("apiextensions.k8s.io", "ConversionReview", ("v1", "v1beta1"))
"""The review kind."""
_MEMBERS: Final[dict[str, tuple[type, str]]] = {
    "uid": (str, "types.UID"),
    "convertedObjects": (list, "[]runtime.RawExtension"),
    "result": (dict, "v1.Status"),
}
"""Members of a response: their types in Python and in Go."""


class ConversionError(Exception):
    """A conversion failed; the message is that of kube-apiserver."""


@dataclass(frozen=True)
class ConversionRequest:
    """Objects to convert."""

    #: The objects, in their current versions.
    items: Sequence[Json]
    #: Group and version of the result.
    api_version: str
    #: Identity of the request.
    uid: str
    #: Version of the review.
    version: str

    @property
    def head(self) -> str:
        """The start of messages about a failure."""
        first = self.items[0]
        return f"conversion webhook for {first['apiVersion']}, Kind={first['kind']}"

    @property
    def body(self) -> bytes:
        """The review as JSON."""
        request = {
            "uid": self.uid,
            "desiredAPIVersion": self.api_version,
            "objects": [_without_version(each) for each in self.items],
        }
        version = f"{REVIEW.group}/{self.version}"
        return msgspec.json.encode({"kind": REVIEW.kind, "apiVersion": version, "request": request})


def _without_version(item: Json) -> Json:
    """Return an object for a converter, without its resourceVersion, which is not its state."""
    metadata = {key: each for key, each in item["metadata"].items() if key != "resourceVersion"}
    return {**item, "metadata": metadata}


def converted_objects(body: bytes, request: ConversionRequest) -> list[Json]:
    """Return the objects of an answer; they must be those of the request in its version.

    Raises:
        ConversionError: they are not.
    """
    try:
        found = _objects(body, request)
    except BadAnswerError as error:
        raise ConversionError(f"{request.head} failed: {error}") from error
    if len(found) != len(request.items):
        counts = f"returned {len(found)} objects, expected {len(request.items)}"
        raise ConversionError(f"{request.head} {counts}")
    for index, (original, converted) in enumerate(zip(request.items, found, strict=True)):
        _check_object(converted)
        problem = _problem(request, original, converted, index)
        if problem:
            raise ConversionError(f"{request.head} returned invalid {problem}")
    return found


def _objects(body: bytes, request: ConversionRequest) -> list[Any]:
    """Return the converted objects of a review.

    Raises:
        BadAnswerError: the answer is not a review of this request, or it reports a failure.
    """
    review = review_of(body, REVIEW, request.version)
    is_checked = request.version != "v1beta1"  # kube-apiserver does not check its answers
    wanted = f"{REVIEW.group}/{request.version}, Kind={REVIEW.kind}"
    if is_checked and not review.get("kind"):
        raise BadAnswerError(f"expected webhook response of {wanted}, got /, Kind=")
    response = review.get("response")
    if response is None:
        raise BadAnswerError("no response provided")
    check_types(response, "ConversionReview.response of type v1.ConversionResponse", _MEMBERS)
    if is_checked and response.get("uid", "") != request.uid:
        given = response.get("uid", "")
        raise BadAnswerError(f'expected response.uid="{request.uid}", got "{given}"')
    result = response.get("result") or {}
    stated = result.get("status", "")
    if stated != "Success":
        text = f"response.result.status was '{stated}', not 'Success'"
        raise BadAnswerError(result.get("message") or text)
    return list(response.get("convertedObjects") or ())


def _check_object(converted: Any) -> None:
    """Refuse values that are not objects with a kind.

    Raises:
        ConversionError: the value is not an object with a kind.
    """
    if converted is None:
        raise ConversionError("unexpected end of JSON input")
    if not isinstance(converted, dict):
        into = "into Go value of type map[string]interface {}"
        raise ConversionError(f"json: cannot unmarshal {json_type(converted)} {into}")
    if not converted.get("kind"):
        shown = msgspec.json.encode(converted).decode()
        raise ConversionError(f"Object 'Kind' is missing in '{shown}'")


def _problem(request: ConversionRequest, original: Json, converted: Json, index: int) -> str:
    """Return why a converted object is not the original in the version of the request."""
    where = f"object at index {index}: "
    version, kind = converted.get("apiVersion") or "", converted["kind"]
    if version != request.api_version:
        return f"{where}invalid groupVersion (expected {request.api_version}, received {version})"
    if kind != original["kind"]:
        return f"{where}invalid kind (expected {original['kind']}, received {kind})"
    problem = identity_problem(original, converted)
    if problem:
        return f"object: {problem}"
    problem = metadata_problem(original, converted)
    return f"metadata: {problem}" if problem else ""
