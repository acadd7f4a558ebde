"""Answers of webhooks: allowed or denied, patches and warnings, and what is wrong with them."""

import base64
import binascii
from dataclasses import dataclass, field
from typing import Any

import msgspec

from stretto.api.wire.kinds import Kind
from stretto.stores.webhooks import WebhookAnswer
from stretto.web.api.configured.addresses import AddressError
from stretto.web.api.configured.attributes import WriteAttributes
from stretto.web.api.configured.hooks import Hook, review_call
from stretto.web.api.failures import ApiError
from stretto.web.api.reviews import PendingReviewsError
from stretto.web.api.state import ApiState

Json = dict[str, Any]


class _BadAnswerError(Exception):
    """An answer that is no review."""


@dataclass(frozen=True)
class HookAnswer:
    """What a webhook says about a write."""

    #: Whether the write is allowed.
    is_allowed: bool = True
    #: Status of a refusal.
    status: Json = field(default_factory=dict)
    #: Operations of a JSON patch.
    patch: list[Json] = field(default_factory=list)
    #: Warnings for the client.
    warnings: tuple[str, ...] = ()


def answer_of(state: ApiState, attributes: WriteAttributes, hook: Hook, kind: Kind) -> HookAnswer:
    """What a webhook says about a write; one that fails open allows it if it cannot be called.

    Raises:
        PendingReviewsError: it is not called yet.
        ApiError: it cannot be called, and does not fail open.
    """
    try:
        review, uid = review_call(state, attributes, hook, kind)
        found = attributes.admission.call.request.memory.answers.get(review.key)
        if found is None:
            raise PendingReviewsError([review])
        if found.problem:
            url = review.call.url
            raise _BadAnswerError(f'failed to call webhook: Post "{url}": {found.problem}')
        return _read(found, uid, hook)
    except AddressError as error:
        return _failed(hook, f"failed to call webhook: {error}")
    except _BadAnswerError as error:
        return _failed(hook, str(error))


def _failed(hook: Hook, problem: str) -> HookAnswer:
    if not hook.fails_closed:
        return HookAnswer()
    text = f'failed calling webhook "{hook.name}": {problem}'
    details = {"causes": [{"message": text}]}
    raise ApiError(500, "InternalError", f"Internal error occurred: {text}", details)


def _read(answer: WebhookAnswer, uid: str, hook: Hook) -> HookAnswer:
    """The review in an answer.

    Raises:
        _BadAnswerError: it is no review, or one of another request.
    """
    prefix = "received invalid webhook response: "
    try:
        review = msgspec.json.decode(answer.body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise _BadAnswerError(f"{prefix}{error}") from error
    review = review if isinstance(review, dict) else {}
    wanted = f"admission.k8s.io/{hook.version}, Kind=AdmissionReview"
    stated = f"{review.get('apiVersion', '')}, Kind={review.get('kind', '')}"
    response = review.get("response")
    if stated != wanted:
        raise _BadAnswerError(f"{prefix}expected webhook response of {wanted}, got {stated}")
    if not isinstance(response, dict):
        raise _BadAnswerError(f"{prefix}webhook response was absent")
    if response.get("uid") != uid:
        given = response.get("uid", "")
        raise _BadAnswerError(f'{prefix}expected response.uid="{uid}", got "{given}"')
    status = response.get("status")
    return HookAnswer(
        bool(response.get("allowed")),
        status if isinstance(status, dict) else {},
        _patch(response, prefix),
        tuple(str(each) for each in response.get("warnings") or ()),
    )


def _patch(response: Json, prefix: str) -> list[Json]:
    """The operations of the patch of a response."""
    text = response.get("patch")
    if not text:
        return []
    if not response.get("patchType"):
        problem = "webhook returned response.patch but not response.patchType"
        raise _BadAnswerError(prefix + problem)
    if response["patchType"] != "JSONPatch":
        problem = f"invalid response.patchType {response['patchType']!r}"
        raise _BadAnswerError(prefix + problem)
    try:
        found = msgspec.json.decode(base64.b64decode(str(text), validate=True))
    except (binascii.Error, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _BadAnswerError(f"{prefix}response.patch is no JSON patch: {error}") from error
    if not isinstance(found, list):
        raise _BadAnswerError(f"{prefix}response.patch is no JSON patch")
    return found


def heed(attributes: WriteAttributes, hook: Hook, answer: HookAnswer) -> None:
    """Pass on the warnings of a webhook, and refuse the write if it does.

    Raises:
        ApiError: the webhook denies the request.
    """
    attributes.admission.call.warnings.extend(answer.warnings)
    if not answer.is_allowed:
        raise _denial(hook, answer.status)


def _denial(hook: Hook, status: Json) -> ApiError:
    """The refusal of a webhook, with the status that it states."""
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
