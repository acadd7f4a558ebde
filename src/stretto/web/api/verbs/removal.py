"""The deletion of one object: finalizers, grace periods, preconditions."""

from typing import Any, Final

import msgspec

from stretto.api.schema.golang import go_value
from stretto.api.types.heads import ENDED
from stretto.api.wire.kinds import CUSTOM_RESOURCE_DEFINITION, NAMESPACE, Kind
from stretto.web.api import failures
from stretto.web.api.call import Call
from stretto.web.api.crds.endings import mark_end
from stretto.web.api.failures import ApiError
from stretto.web.api.state import AdmittedWrite, ApiState
from stretto.web.api.storage import StoredItem
from stretto.web.api.webhooks.reviews import PendingReviewsError, ReviewCall
from stretto.workloads.deletion import FOREGROUND, ORPHAN

Json = dict[str, Any]


class DeleteOptions(msgspec.Struct, rename="camel"):
    """The body of a deletion."""

    #: Kind in the body.
    kind: str = ""
    #: Version in the body.
    api_version: str = ""
    #: Grace period in seconds; ``None``: the object's own.
    grace_period_seconds: int | None = None
    #: Required uid and version.
    preconditions: dict[str, str] | None = None
    #: Old form of the policy.
    orphan_dependents: bool | None = None
    #: Propagation policy for dependents.
    propagation_policy: str | None = None
    #: ``All`` for a dry run.
    dry_run: list[str] | None = None


_BOTH: Final = "orphanDependents and deletionPropagation cannot be both set"
_POLICIES: Final = ("Foreground", "Background", "Orphan")


def check_options(options: DeleteOptions) -> None:
    """Check the policy of a deletion.

    Raises:
        ApiError: it is unknown, or stated twice.
    """
    kind = Kind("meta.k8s.io", "v1", "DeleteOptions", "")
    policy, causes = options.propagation_policy, []
    if policy is not None and options.orphan_dependents is not None:
        text = f'Invalid value: "{policy}": {_BOTH}'
        causes.append(("FieldValueInvalid", text, "propagationPolicy"))
    if policy is not None and policy not in _POLICIES:
        shown = ", ".join(f'"{each}"' for each in ("Foreground", "Background", "Orphan", "nil"))
        text = f'Unsupported value: "{policy}": supported values: {shown}'
        causes.append(("FieldValueNotSupported", text, "propagationPolicy"))
    if causes:
        raise failures.invalid(kind, "", causes)


def check_dry_run(call: Call, options: DeleteOptions) -> None:
    """Refuse a dry run that differs between the query and the body of an eviction.

    Raises:
        ApiError: both state a dry run, and they differ.
    """
    stated, wanted = call.request.query.get("dryRun") or [], options.dry_run or []
    if stated and wanted and stated != wanted:
        one, other = go_value(stated), go_value(wanted)
        raise failures.internal(
            f"Non-matching dry-run options in request and content: {one} and {other}"
        )


def remove(
    state: ApiState, call: Call, found: StoredItem, options: DeleteOptions
) -> tuple[Json, bool]:
    """Delete an object; return its last state and whether it is removed.

    Raises:
        ApiError: a precondition fails, or admission refuses the deletion.
    """
    check_preconditions(call, found, options)
    admit_removal(state, call, found)
    return remove_admitted(state, call, found, options)


def admit_removal(state: ApiState, call: Call, found: StoredItem) -> None:
    """Run admission, which may refuse the deletion of an object.

    Raises:
        ApiError: admission refuses it.
    """
    admission = AdmittedWrite(call, "DELETE", None, found.item)
    state.admit(admission)


def review_removals(state: ApiState, call: Call, present: list[StoredItem]) -> None:
    """Call all webhooks about the deletion of objects before the first one is deleted.

    Raises:
        PendingReviewsError: the webhooks have not answered yet.
    """
    pending: list[ReviewCall] = []
    for stored in present:
        try:
            admit_removal(state, call, stored)
        except PendingReviewsError as error:
            pending += error.calls
        except ApiError:
            continue  # the deletion of this object is refused again later
    if pending:
        raise PendingReviewsError(pending)


def remove_admitted(
    state: ApiState, call: Call, found: StoredItem, options: DeleteOptions
) -> tuple[Json, bool]:
    """Delete an object after admission; return its last state and whether it is removed.

    Raises:
        ApiError: the object was changed meanwhile.
    """
    resource = call.resource
    item, grace = _ending(state, call, found, options)
    if item is None:
        return found.item, False
    is_graceful = resource.key == ("", "Pod")
    held = bool(item["metadata"].get("finalizers")) or grace > 0
    held = held or resource.stored == CUSTOM_RESOURCE_DEFINITION
    held = held or _is_held_namespace(found.item, item)
    if call.options.dry_run:
        return (item if held or is_graceful else found.item), not held
    stored = found
    if held or (is_graceful and item != found.item):
        ends = item["metadata"]["deletionTimestamp"]
        stored = state.storage.replace(resource, found.record, item, ends)
    gone = stored if held else state.storage.remove(resource, stored.record)
    _after(state, call, found.item)
    return gone.item, not held


def _ending(
    state: ApiState, call: Call, found: StoredItem, options: DeleteOptions
) -> tuple[Json | None, int]:
    """Return an object marked for deletion, and its grace period; ``None`` if nothing changes."""
    resource = call.resource
    item = {**found.item, "metadata": dict(found.item["metadata"])}
    metadata = item["metadata"]
    finalizers = _finalizers(resource.key, metadata.get("finalizers") or [], options)
    grace = _grace(resource.key, item, options)
    already = "deletionTimestamp" in metadata
    if already and resource.key == ("", "Pod") and not _is_shorter(metadata, options):
        return None, grace
    is_second = already and "deletionGracePeriodSeconds" not in metadata
    is_second = is_second and resource.stored == CUSTOM_RESOURCE_DEFINITION
    if already and not is_second and finalizers == (metadata.get("finalizers") or []):
        before = metadata.get("deletionGracePeriodSeconds", 0)
        if grace >= before and (finalizers or before):
            return None, grace
    metadata.pop("finalizers", None)
    if finalizers:
        metadata["finalizers"] = finalizers
    if not already or is_second or grace < metadata.get("deletionGracePeriodSeconds", 0):
        if is_second or resource.stored not in (CUSTOM_RESOURCE_DEFINITION, NAMESPACE):
            metadata["deletionGracePeriodSeconds"] = grace
        if metadata.get("generation") and not already:
            metadata["generation"] += 1
    metadata.setdefault("deletionTimestamp", state.later(grace))
    if resource.key == ("", "Namespace"):
        item["status"] = {**(item.get("status") or {}), "phase": "Terminating"}
    if resource.stored == CUSTOM_RESOURCE_DEFINITION and not already:
        mark_end(item, state.now)
        metadata["generation"] = found.item["metadata"].get("generation", 1)
    return item, grace


def _is_shorter(metadata: Json, options: DeleteOptions) -> bool:
    """Return whether a second deletion of a pod shortens its grace period, or there is none."""
    before, stated = metadata.get("deletionGracePeriodSeconds"), options.grace_period_seconds
    return not before or (stated is not None and stated < before)


def _after(state: ApiState, call: Call, old: Json) -> None:
    for after in state.after_write:
        after(state, AdmittedWrite(call, "DELETE", None, old))


def check_preconditions(call: Call, found: StoredItem, options: DeleteOptions) -> None:
    """Refuse the deletion if object or version differ from the options."""
    wanted = options.preconditions or {}
    resource, name = call.resource, found.record.name
    kind = resource.kind
    word = f"{kind.kind}.{kind.group}" if kind.group else kind.kind
    pairs = (
        ("uid", "UID", found.record.uid),
        ("resourceVersion", "ResourceVersion", found.version),
    )
    for key, word_of, actual in pairs:
        value = wanted.get(key)
        if value is None or value == actual:
            continue
        if resource.stored in (NAMESPACE, CUSTOM_RESOURCE_DEFINITION):
            why = (
                f"Precondition failed: {word_of} in precondition: {value}, {word_of} in object "
                f"meta: {actual}"
            )
            raise failures.conflict(resource.group, resource.resource, name, why)
        text = (
            f'Operation cannot be fulfilled on {word} "{name}": the {word_of} in the precondition '
            f"({value}) does not match the {word_of} in record ({actual}). "
            "The object might have been "
            + ("deleted and then recreated" if key == "uid" else "modified")
        )
        details = failures.details_of(kind.group, kind.kind, name)
        raise ApiError(409, "Conflict", text, details)


def _finalizers(key: tuple[str, str], present: list[str], options: DeleteOptions) -> list[str]:
    """Return the finalizers after the propagation policy is applied; definitions ignore it."""
    if key == (CUSTOM_RESOURCE_DEFINITION.group, CUSTOM_RESOURCE_DEFINITION.kind):
        return present
    policy = options.propagation_policy
    if policy is None and options.orphan_dependents is not None:
        policy = "Orphan" if options.orphan_dependents else "Background"
    if policy is None:
        if ORPHAN in present or FOREGROUND in present:
            return present
        policy = "Orphan" if key in _ORPHANING else "Background"
    kept = [each for each in present if each not in (ORPHAN, FOREGROUND)]
    if policy == "Orphan":
        kept.append(ORPHAN)
    if policy == "Foreground":
        kept.append(FOREGROUND)
    return kept


_ORPHANING: Final = frozenset({("", "ReplicationController"), ("batch", "Job")})
"""Kinds whose dependents are orphaned by default."""


def _grace(key: tuple[str, str], item: Json, options: DeleteOptions) -> int:
    """Grace period of a pod in seconds; 0 for other kinds and for pods that do not run."""
    if key != ("", "Pod"):
        return 0
    spec = item.get("spec") or {}
    grace = options.grace_period_seconds
    if grace is None:
        grace = spec.get("terminationGracePeriodSeconds") or 0
    phase = (item.get("status") or {}).get("phase")
    if not spec.get("nodeName") or phase in ENDED:
        return 0
    return max(1, grace) if grace < 0 else grace


def _is_held_namespace(old: Json, item: Json) -> bool:
    """Return whether a namespace stays: it has its own finalizers, or its end has just begun."""
    if item.get("kind") != "Namespace" or item.get("apiVersion") != "v1":
        return False
    is_first = "deletionTimestamp" not in old["metadata"]
    return is_first or bool((item.get("spec") or {}).get("finalizers"))
