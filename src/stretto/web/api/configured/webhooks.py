"""Admission by webhooks: those that change objects, one after the other, then those that refuse."""

import copy
from typing import Any

import msgspec

from stretto.api.admission.defaulting.walk import set_defaults
from stretto.api.edit.patch import json_patch
from stretto.api.wire.kinds import Kind
from stretto.base.errors import ConflictError, InputError
from stretto.web.api.configured.answers import HookAnswer, answer_of, heed
from stretto.web.api.configured.attributes import attributes_of
from stretto.web.api.configured.conversion import converted, in_version
from stretto.web.api.configured.hooks import MUTATING, VALIDATING, Hook, concerned, hooks_of
from stretto.web.api.failures import ApiError
from stretto.web.api.objects.reading import read_object
from stretto.web.api.reviews import PendingReviewsError, ReviewCall
from stretto.web.api.state import AdmittedWrite, ApiState

Json = dict[str, Any]


def mutate_by_webhooks(state: ApiState, admission: AdmittedWrite) -> None:
    """Change an object as webhooks want it.

    If one has changed it, the plugins of the server admit it again, and then the webhooks that
    state a reinvocation.
    """
    hooks = hooks_of(state, MUTATING)
    if not hooks:
        return
    before = _content(admission)
    seen = _run(state, admission, hooks, {})
    if _content(admission) == before:
        return
    for admit in state.mutating:
        if admit is not mutate_by_webhooks:
            admit(state, admission)
    again = [each for each in hooks if each.is_reinvoked and each.identity in seen]
    _run(state, admission, again, seen)


def _run(
    state: ApiState,
    admission: AdmittedWrite,
    hooks: list[Hook],
    seen: dict[tuple[str, str], bytes],
) -> dict[tuple[str, str], bytes]:
    """Call webhooks one after the other, and return the object after each; equal ones are known."""
    found = dict(seen)
    for each in hooks:
        if found.get(each.identity) == _content(admission):
            continue
        attributes = attributes_of(state, admission)
        if attributes is None:
            break
        for hook, kind in concerned(state, attributes, [each]):
            answer = answer_of(state, attributes, hook, kind)
            heed(attributes, hook, answer)
            if answer.patch:
                _apply(state, admission, kind, hook, answer)
            found[hook.identity] = _content(admission)
    return found


def _content(admission: AdmittedWrite) -> bytes:
    return msgspec.json.encode([admission.item, admission.shown])


def _apply(
    state: ApiState, admission: AdmittedWrite, kind: Kind, hook: Hook, answer: HookAnswer
) -> None:
    """Change the object of a write by the patch of a webhook."""
    attributes = attributes_of(state, admission)
    assert attributes is not None
    reviewed = in_version(state, attributes, attributes.item, kind)
    try:
        result = json_patch(copy.deepcopy(reviewed or {}), answer.patch, "object")
    except (InputError, ConflictError) as error:
        text = f'the patch of webhook "{hook.name}" does not apply: {error}'
        raise ApiError(500, "InternalError", f"Internal error occurred: {text}") from error
    if admission.shown is not None:
        _replace(admission.shown, result)
    elif admission.item is not None:
        _replace(admission.item, _read(state, admission, result, kind))


def _read(state: ApiState, admission: AdmittedWrite, value: Json, kind: Kind) -> Json:
    """A patched object as its kind holds it, in the version of the request."""
    resource = admission.resource
    other = state.resources.find(kind.group, kind.version, kind.plural) or resource
    item, _ = read_object(value, [], other, "Ignore")
    item = converted(item, other, resource)
    if resource.definition is None:
        set_defaults(item, resource.struct)
    return item


def _replace(item: Json, other: Json) -> None:
    item.clear()
    item.update(other)


def validate_by_webhooks(state: ApiState, admission: AdmittedWrite) -> None:
    """Refuse a write that a webhook denies; all are called at the same time."""
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
    for hook, answer in answers:
        if isinstance(answer, ApiError):
            raise answer
        heed(attributes, hook, answer)
