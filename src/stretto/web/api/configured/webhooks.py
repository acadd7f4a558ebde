"""Admission by webhooks: mutating ones run one after the other, then the validating ones."""

from typing import Final

import msgspec

from stretto.api.edit.json_patch import OperationError, operated
from stretto.api.wire.kinds import Kind
from stretto.web.api.configured.annotations import PassedWebhook, place_of
from stretto.web.api.configured.answers import HookAnswer, answer_of, heed
from stretto.web.api.configured.attributes import WriteAttributes, attributes_of
from stretto.web.api.configured.conversion import in_version
from stretto.web.api.configured.hooks import MUTATING, VALIDATING, Hook, concerned, hooks_of
from stretto.web.api.configured.replacement import replace_reviewed
from stretto.web.api.failures import ApiError, failed_internally
from stretto.web.api.state import AdmittedWrite, ApiState
from stretto.web.api.webhooks.reviews import PendingReviewsError, ReviewCall

_PART: Final = "webhooks"


def mutate_by_webhooks(state: ApiState, admission: AdmittedWrite) -> None:
    """Apply the patches of mutating webhooks to an object, one after the other.

    Raises:
        ApiError: a webhook denies the write or cannot be called, or its patch does not apply.
        PendingReviewsError: a webhook has not answered yet.
    """
    hooks = hooks_of(state, MUTATING)
    if not hooks:
        return
    admission.rounds.begin(_PART, _content(admission))
    for index, each in enumerate(hooks):
        attributes = attributes_of(state, admission)
        if attributes is None:
            break
        if not admission.rounds.may_run(_PART, each.identity):
            continue
        for hook, kind in concerned(state, attributes, [each]):
            place = place_of(index, is_second=admission.rounds.is_second)
            passed = PassedWebhook(admission.call.request.notes, hook.identity, place)
            changed = _passed(state, attributes, (hook, kind), passed)
            admission.rounds.has_run(
                _PART, hook.identity, changed=changed, repeats=hook.is_reinvoked
            )
    admission.rounds.end(_PART, _content(admission))


def _passed(
    state: ApiState, attributes: WriteAttributes, matched: tuple[Hook, Kind], passed: PassedWebhook
) -> bool:
    """Call a mutating webhook; return whether it has changed the object."""
    admission, (hook, kind) = attributes.admission, matched
    before, changed = _content(admission), False
    try:
        answer = answer_of(state, attributes, hook, kind)
        if answer.failed_open:
            passed.failed_open("mutation")
        passed.stated(answer.annotations)
        heed(attributes, hook, answer)
        if answer.patch:
            _apply(state, admission, kind, answer)
            passed.patched(answer.patch)
        changed = _content(admission) != before
    finally:
        passed.changed(mutated=changed)
    return changed


def _content(admission: AdmittedWrite) -> bytes:
    return msgspec.json.encode([admission.item, admission.shown])


def _apply(state: ApiState, admission: AdmittedWrite, kind: Kind, answer: HookAnswer) -> None:
    """Change the object of a write by the patch of a webhook."""
    attributes = attributes_of(state, admission)
    assert attributes is not None
    reviewed = in_version(state, attributes, attributes.item, kind)
    try:
        result = operated(reviewed or {}, answer.patch)
    except OperationError as error:
        raise failed_internally(str(error)) from error
    replace_reviewed(state, admission, result, kind, strict=False)


def validate_by_webhooks(state: ApiState, admission: AdmittedWrite) -> None:
    """Refuse a write that a validating webhook denies; all are called at the same time."""
    hooks = hooks_of(state, VALIDATING)
    attributes = attributes_of(state, admission) if hooks else None
    if attributes is None:
        return
    answers: list[tuple[Hook, HookAnswer | ApiError]] = []
    pending: list[ReviewCall] = []
    for hook, kind in concerned(state, attributes, hooks):
        try:
            answers.append((hook, answer_of(state, attributes, hook, kind)))
        except PendingReviewsError as error:
            pending += error.calls
        except ApiError as error:
            answers.append((hook, error))
    if pending:
        raise PendingReviewsError(pending)
    for index, (hook, answer) in enumerate(answers):
        if isinstance(answer, ApiError):
            raise answer
        passed = PassedWebhook(admission.call.request.notes, hook.identity, place_of(index))
        if answer.failed_open:
            passed.failed_open("validating")
        passed.stated(answer.annotations)
        heed(attributes, hook, answer)
