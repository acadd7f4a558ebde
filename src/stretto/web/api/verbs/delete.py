"""DELETE of one object or of a collection."""

from typing import Any, Final

import msgspec

from stretto.api.wire.kinds import Kind
from stretto.web.api import failures
from stretto.web.api.call import Call, write_options
from stretto.web.api.crds.lifecycle import DEFINITION, begin_end
from stretto.web.api.failures import ApiError, bad_request
from stretto.web.api.message import ApiResponse
from stretto.web.api.negotiation import encoded
from stretto.web.api.objects.reading import parse_body
from stretto.web.api.objects.rendering import rendered
from stretto.web.api.selection.options import selection_of
from stretto.web.api.state import AdmittedWrite, ApiState
from stretto.web.api.storage import StoredItem
from stretto.web.api.verbs.answers import accept, answer
from stretto.web.api.writes import shape

Json = dict[str, Any]

_ORPHAN: Final = "orphan"
_FOREGROUND: Final = "foregroundDeletion"
_POLICIES: Final = ("Foreground", "Background", "Orphan")
_RETURNED: Final = frozenset(
    {
        ("", "Pod"), ("", "Service"), ("", "ServiceAccount"), ("", "PersistentVolume"),
        ("", "PersistentVolumeClaim"), ("", "ResourceQuota"), ("", "PodTemplate"),
        ("", "LimitRange"),
    }
)  # fmt: skip
"""Kinds whose deletion answers with the object."""
_ENDED: Final = ("Succeeded", "Failed")
_KEEP_CHILDREN: Final = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background "
    "to remove them or set propagationPolicy=Orphan to suppress this warning"
)


class DeleteOptions(msgspec.Struct, rename="camel"):
    """The body of a deletion."""

    #: Kind as stated.
    kind: str = ""
    #: Version as stated.
    api_version: str = ""
    #: Seconds before the end; ``None``: the object's own.
    grace_period_seconds: int | None = None
    #: Required uid and version.
    preconditions: dict[str, str] | None = None
    #: Old form of the policy.
    orphan_dependents: bool | None = None
    #: What happens to dependents.
    propagation_policy: str | None = None
    #: ``All`` for a dry run.
    dry_run: list[str] | None = None


def read_options(call: Call) -> DeleteOptions:
    """The options in the body or in the query.

    Raises:
        ApiError: they are malformed.
    """
    request = call.request
    options = DeleteOptions()
    if request.body:
        value, _ = parse_body(request.body, request.header("content-type"), "")
        try:
            options = msgspec.convert(value, DeleteOptions)
        except msgspec.ValidationError as error:
            raise bad_request(str(error)) from error
    else:
        grace = request.parameter("gracePeriodSeconds")
        if grace:
            if not grace.lstrip("-").isdigit():
                raise bad_request(f'strconv.ParseInt: parsing "{grace}": invalid syntax')
            options.grace_period_seconds = int(grace)
        options.propagation_policy = request.parameter("propagationPolicy") or None
        orphan = request.parameter("orphanDependents")
        options.orphan_dependents = orphan in ("true", "1") if orphan else None
    call.options = write_options(request, "delete", {"dryRun": options.dry_run or []})
    _check(options)
    return options


def _check(options: DeleteOptions) -> None:
    kind = Kind("meta.k8s.io", "v1", "DeleteOptions", "")
    policy = options.propagation_policy
    if policy is not None and options.orphan_dependents is not None:
        text = 'Invalid value: "%s": orphanDependents and deletionPropagation cannot be both set'
        raise failures.invalid(
            kind, "", [("FieldValueInvalid", text % policy, "propagationPolicy")]
        )
    if policy is not None and policy not in _POLICIES:
        shown = ", ".join(f'"{each}"' for each in ("Foreground", "Background", "Orphan", "nil"))
        text = f'Unsupported value: "{policy}": supported values: {shown}'
        raise failures.invalid(kind, "", [("FieldValueNotSupported", text, "propagationPolicy")])


def delete(state: ApiState, call: Call) -> ApiResponse:
    """Delete an object, or mark it until its finalizers and its grace period have ended."""
    options = read_options(call)
    route, resource = call.route, call.resource
    found = state.storage.get(resource, route.namespace, route.name)
    if resource.key == ("batch", "Job") and not (
        options.propagation_policy or options.orphan_dependents is not None
    ):
        call.warnings.append(_KEEP_CHILDREN)
    last, gone = remove(state, call, found, options)
    if not gone:
        return answer(state, call, shape(call, last), 200)
    if resource.key in _RETURNED:
        return answer(state, call, shape(call, last))
    details = failures.details_of(resource.group, resource.resource, route.name)
    details["uid"] = found.record.uid
    status: Json = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": details,
    }
    return answer(state, call, status)


def delete_collection(state: ApiState, call: Call) -> ApiResponse:
    """Delete the selected objects; answers with them as a list."""
    options = read_options(call)
    selection = selection_of(call)
    version = str(state.storage.version)
    found = []
    for record in state.storage.listing(call.resource.stored, call.route.namespace).records:
        stored = StoredItem(rendered(record), record)
        if selection.matches(stored.item):
            last, _ = remove(state, call, stored, options)
            found.append(shape(call, last))
    if call.resource.definition is None:
        found = [
            {key: each for key, each in item.items() if key not in ("kind", "apiVersion")}
            for item in found
        ]
    kind = call.resource.kind
    body: Json = {
        "kind": call.resource.version.get("list_kind") or f"{kind.kind}List",
        "apiVersion": kind.api_version,
        "metadata": {"resourceVersion": version},
        "items": found,
    }
    return encoded(body, accept(call, ()), 200, call.warnings)


def remove(
    state: ApiState, call: Call, found: StoredItem, options: DeleteOptions
) -> tuple[Json, bool]:
    """Delete an object; returns its last state and whether it is gone.

    Raises:
        ApiError: a precondition does not hold, or admission refuses it.
    """
    resource = call.resource
    _check_preconditions(call, found, options)
    admission = AdmittedWrite(call, "DELETE", None, found.item)
    for admit in (*state.mutating, *state.validating):
        admit(state, admission)
    item = {**found.item, "metadata": dict(found.item["metadata"])}
    metadata = item["metadata"]
    finalizers = _finalizers(resource.key, metadata.get("finalizers") or [], options)
    grace = _grace(resource.key, item, options)
    already = "deletionTimestamp" in metadata
    if (
        already
        and grace >= metadata.get("deletionGracePeriodSeconds", 0)
        and (finalizers == (metadata.get("finalizers") or []))
    ):
        held = finalizers or metadata.get("deletionGracePeriodSeconds")
        if held:
            return found.item, False
    metadata.pop("finalizers", None)
    if finalizers:
        metadata["finalizers"] = finalizers
    held = bool(finalizers) or grace > 0 or _is_namespace_with_content(resource.key, item)
    held = held or resource.stored == DEFINITION
    if not held:
        if call.options.dry_run:
            return found.item, True
        gone = state.storage.remove_whole(resource, found.record, item)
        _after(state, call, gone.item)
        return found.item, True
    if not already or grace < metadata.get("deletionGracePeriodSeconds", 0):
        metadata["deletionGracePeriodSeconds"] = grace
        if metadata.get("generation") and not already:
            metadata["generation"] += 1
    metadata.setdefault("deletionTimestamp", state.later(grace))
    if resource.key == ("", "Namespace"):
        item["status"] = {**(item.get("status") or {}), "phase": "Terminating"}
    if resource.stored == DEFINITION and not already:
        begin_end(item, state.now)
        metadata["generation"] = found.item["metadata"].get("generation", 1)
    if call.options.dry_run:
        return item, False
    stored = state.storage.replace(resource, found.record, item, metadata["deletionTimestamp"])
    _after(state, call, stored.item)
    return stored.item, False


def _after(state: ApiState, call: Call, old: Json) -> None:
    for after in state.after_write:
        after(state, AdmittedWrite(call, "DELETE", None, old))


def _check_preconditions(call: Call, found: StoredItem, options: DeleteOptions) -> None:
    wanted = options.preconditions or {}
    kind, name = call.resource.kind, found.record.name
    word = f"{kind.kind}.{kind.group}" if kind.group else kind.kind
    pairs = (
        ("uid", "UID", found.record.uid),
        ("resourceVersion", "ResourceVersion", found.version),
    )
    for key, word_of, actual in pairs:
        value = wanted.get(key)
        if value is None or value == actual:
            continue
        text = (
            f'Operation cannot be fulfilled on {word} "{name}": the {word_of} in the precondition '
            f"({value}) does not match the {word_of} in record ({actual}). "
            "The object might have been "
            + ("deleted and then recreated" if key == "uid" else "modified")
        )
        details = failures.details_of(kind.group, kind.kind, name)
        raise ApiError(409, "Conflict", text, details)


def _finalizers(key: tuple[str, str], present: list[str], options: DeleteOptions) -> list[str]:
    """Finalizers after the propagation policy."""
    policy = options.propagation_policy
    if policy is None and options.orphan_dependents is not None:
        policy = "Orphan" if options.orphan_dependents else "Background"
    if policy is None:
        if _ORPHAN in present or _FOREGROUND in present:
            return present
        policy = "Orphan" if key in _ORPHANING else "Background"
    kept = [each for each in present if each not in (_ORPHAN, _FOREGROUND)]
    if policy == "Orphan":
        kept.append(_ORPHAN)
    if policy == "Foreground":
        kept.append(_FOREGROUND)
    return kept


_ORPHANING: Final = frozenset({("", "ReplicationController"), ("batch", "Job")})
"""Kinds whose dependents stay by default."""


def _grace(key: tuple[str, str], item: Json, options: DeleteOptions) -> int:
    """Seconds until a pod ends; 0 for other kinds and for pods that do not run."""
    if key != ("", "Pod"):
        return 0
    spec = item.get("spec") or {}
    grace = options.grace_period_seconds
    if grace is None:
        grace = spec.get("terminationGracePeriodSeconds") or 0
    phase = (item.get("status") or {}).get("phase")
    if not spec.get("nodeName") or phase in _ENDED:
        return 0
    return max(1, grace) if grace < 0 else grace


def _is_namespace_with_content(key: tuple[str, str], item: Json) -> bool:
    """Whether a namespace still has its own finalizers."""
    return key == ("", "Namespace") and bool((item.get("spec") or {}).get("finalizers"))
