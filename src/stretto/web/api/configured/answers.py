"""Answers of webhooks: allowed or denied, patches, warnings, and their errors."""

import base64
import binascii
import string
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from stretto.api.schema.golang import json_type
from stretto.api.wire.kinds import Kind
from stretto.stores.webhooks import WebhookAnswer
from stretto.web.api.configured.attributes import WriteAttributes
from stretto.web.api.configured.hooks import REVIEWED_VERSIONS, Hook, review_call
from stretto.web.api.failures import ApiError
from stretto.web.api.objects import json_text
from stretto.web.api.objects.json_text import JsonTextError
from stretto.web.api.state import ApiState
from stretto.web.api.webhooks.addresses import AddressError, service_url
from stretto.web.api.webhooks.bodies import BadAnswerError, ReviewKind, check_types, review_of
from stretto.web.api.webhooks.problems import call_problem
from stretto.web.api.webhooks.reviews import PendingReviewsError

Json = dict[str, Any]


@dataclass(frozen=True)
class HookAnswer:
    """The answer of a webhook to a review of a write."""

    #: True if the write is allowed.
    is_allowed: bool = True
    #: Status of a refusal.
    status: Json = field(default_factory=dict)
    #: Operations of a JSON patch.
    patch: list[Any] = field(default_factory=list)
    #: Warnings for the client.
    warnings: tuple[str, ...] = ()
    #: Annotations for the audit log.
    annotations: Mapping[str, str] = field(default_factory=dict)
    #: True if the webhook could not be called and fails open.
    failed_open: bool = False


def answer_of(state: ApiState, attributes: WriteAttributes, hook: Hook, kind: Kind) -> HookAnswer:
    """Call a webhook about a write; if it fails open, a failed call allows the write.

    Raises:
        PendingReviewsError: the webhook is not called yet.
        ApiError: the webhook cannot be called, and does not fail open.
    """
    try:
        review, uid = review_call(state, attributes, hook, kind)
    except AddressError as error:
        client = hook.spec.get("clientConfig") or {}
        url = f"{service_url(client.get('service') or {})}?timeout={hook.seconds}s"
        return _failed(hook, f'failed to call webhook: Post "{url}": {error}')
    found = attributes.admission.call.request.memory.answers.get(review.key)
    if found is None:
        raise PendingReviewsError([review])
    try:
        problem = call_problem(review.call, found)
        if problem:
            raise BadAnswerError(f"failed to call webhook: {problem}")
        return _read(found, uid, hook)
    except BadAnswerError as error:
        return _failed(hook, str(error))


def _failed(hook: Hook, problem: str) -> HookAnswer:
    if not hook.fails_closed:
        return HookAnswer(failed_open=True)
    text = f'failed calling webhook "{hook.name}": {problem}'
    details = {"causes": [{"message": text}]}
    raise ApiError(500, "InternalError", f"Internal error occurred: {text}", details)


def _read(answer: WebhookAnswer, uid: str, hook: Hook) -> HookAnswer:
    """Decode the review in an answer.

    Raises:
        BadAnswerError: the answer is not a review, or a review of another request.
    """
    prefix = "received invalid webhook response: "
    response = _response(answer, hook)
    if response is None:
        raise BadAnswerError(f"{prefix}webhook response was absent")
    if response.get("uid", "") != uid:
        given = response.get("uid", "")
        raise BadAnswerError(f'{prefix}expected response.uid="{uid}", got "{given}"')
    status = response.get("status")
    return HookAnswer(
        bool(response.get("allowed")),
        status or {},
        _patch(response, hook),
        tuple(response.get("warnings") or ()),
        {key: str(each) for key, each in (response.get("auditAnnotations") or {}).items()},
    )


def _response(answer: WebhookAnswer, hook: Hook) -> Json | None:
    """Return the response of a review, after a check of its members' types."""
    try:
        review = review_of(answer.body, _REVIEW, hook.version)
        found: Json | None = review.get("response")
        if review.get("kind") and found is not None:
            check_types(found, "AdmissionReview.response of type v1.AdmissionResponse", _MEMBERS)
    except BadAnswerError as error:
        raise BadAnswerError(f"failed to call webhook: {error}") from error
    if not review.get("kind"):
        wanted = f"{_REVIEW.group}/{hook.version}, Kind={_REVIEW.kind}"
        text = f"expected webhook response of {wanted}, got /, Kind="
        raise BadAnswerError(f"received invalid webhook response: {text}")
    return found


_REVIEW: Final = ReviewKind("admission.k8s.io", "AdmissionReview", REVIEWED_VERSIONS)
_MEMBERS: Final[dict[str, tuple[type, str]]] = {
    "uid": (str, "types.UID"),
    "allowed": (bool, "bool"),
    "status": (dict, "v1.Status"),
    "patch": (str, "[]uint8"),
    "patchType": (str, "v1.PatchType"),
    "warnings": (list, "[]string"),
    "auditAnnotations": (dict, "map[string]string"),
}
"""Members of a response: their types in Python and in Go."""


def _patch(response: Json, hook: Hook) -> list[Any]:
    """Return the operations of the patch of a response."""
    prefix, text = "received invalid webhook response: ", response.get("patch")
    content = _decoded(str(text or ""))
    if not hook.is_mutating and (text or response.get("patchType")):
        word = "patch" if text else "patchType"
        raise BadAnswerError(f"{prefix}validating webhook may not return response.{word}")
    if text and not response.get("patchType"):
        problem = "webhook returned response.patch but not response.patchType"
        raise BadAnswerError(prefix + problem)
    if response.get("patchType") and not text:
        problem = "webhook returned response.patchType but not response.patch"
        raise BadAnswerError(prefix + problem)
    if not response.get("allowed") or not content:
        return []
    head = "received undecodable patch in webhook response: "
    try:
        found, _ = json_text.parse(content)
    except JsonTextError as error:
        raise BadAnswerError(f"{head}{error}") from error
    if not isinstance(found, list):
        word = json_type(found)
        text = f"json: cannot unmarshal {word} into Go value of type jsonpatch.Patch"
        raise BadAnswerError(head + text)
    return found


def _decoded(text: str) -> bytes:
    """Decode a text in base64."""
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        place = next((at for at, each in enumerate(text) if each not in _BASE64), len(text))
        problem = f"illegal base64 data at input byte {place}"
        raise BadAnswerError(f"failed to call webhook: {problem}") from error


_BASE64: Final = frozenset(string.ascii_letters + string.digits + "+/=")


def heed(attributes: WriteAttributes, hook: Hook, answer: HookAnswer) -> None:
    """Pass on the warnings of a webhook, and refuse the write if the webhook denies it.

    Raises:
        ApiError: the webhook denies the request.
    """
    attributes.admission.call.warnings.extend(answer.warnings)
    if not answer.is_allowed:
        raise _denial(hook, answer.status)


def _denial(hook: Hook, status: Json) -> ApiError:
    """Return the refusal of a webhook, with the status in its answer."""
    text = f'admission webhook "{hook.name}" denied the request'
    code, reason = status.get("code"), str(status.get("reason") or "")
    detail = status.get("message") or reason
    text = f"{text}: {detail}" if detail else f"{text} without explanation"
    details = status.get("details")
    return ApiError(
        code if isinstance(code, int) and code >= 400 else 400,
        reason,
        text,
        details if isinstance(details, dict) else None,
    )
