"""Replaces custom workloads of an input by their pods and PodGroups."""

import hashlib
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from stretto.api.admission.field_rules import check_new
from stretto.api.codec import parse_object, without_nulls
from stretto.api.edit.skipped import SkippedObjects
from stretto.api.wire.kinds import JOB, PERSISTENT_VOLUME_CLAIM, POD, POD_GROUP, Kind
from stretto.inputs.neutral.strict import inside
from stretto.inputs.objects.checked import ObjectChecks, checking
from stretto.inputs.objects.objects import GROUP, JsonObject, pod_group_body
from stretto.inputs.objects.relations import InputObject, Key
from stretto.inputs.workloads.jobs import KUEUE_QUEUE, kueue_job
from stretto.inputs.workloads.table import NO_PODS, READERS, TEMPLATES
from stretto.inputs.workloads.units import (
    OperatorClaim,
    PodSet,
    UnsupportedWorkloadError,
    Workload,
)

RAW_KINDS: Final = frozenset((*READERS, *TEMPLATES, *NO_PODS))
"""Groups and kinds that the reader of manifests passes to this module."""
_NOTES: Final = ("labels", "annotations")


def expand_workloads(
    objects: Sequence[InputObject], skipped: SkippedObjects, checks: ObjectChecks | None = None
) -> list[InputObject]:
    """The objects with custom workloads replaced by their pods, and PodGroups for their gangs.

    A workload with unknown pods is counted as skipped, with the reason. ``checks`` receives the
    errors and the pods of each workload.

    Raises:
        InputError: a field of a workload is malformed, and there are no ``checks``.
    """
    others = {
        (each.kind.kind, each.name): parse_object(each.body, each.title)
        for each in objects
        if _group_kind(each.kind) in TEMPLATES
    }
    result: list[InputObject] = []
    claims = {each.key for each in objects if each.kind is PERSISTENT_VOLUME_CLAIM}
    for each in objects:
        name = _group_kind(each.kind)
        if name in NO_PODS:
            skipped.add(each.kind, NO_PODS[name])
        elif name in TEMPLATES:
            skipped.add(each.kind)
        elif name in READERS or _is_of_kueue(each):
            with checking(checks, each.label):
                made = _without_known(_expanded(each, others, skipped), claims)
                result += made
                if checks is not None:
                    checks.belongs((one.label for one in made), each.label)
        else:
            result.append(each)
    return result


def _without_known(made: Iterable[InputObject], claims: set[Key]) -> list[InputObject]:
    """The objects without existing PVCs; the other PVCs are added to ``claims``."""
    found = []
    for each in made:
        if each.kind is PERSISTENT_VOLUME_CLAIM:
            if each.key in claims:
                continue
            claims.add(each.key)
        found.append(each)
    return found


def _group_kind(kind: Kind) -> tuple[str, str]:
    return kind.group, kind.kind


def _is_of_kueue(item: InputObject) -> bool:
    """True if an object is a Job that Kueue admits."""
    return (
        item.kind is JOB and KUEUE_QUEUE.encode() in item.body and KUEUE_QUEUE in item.meta().labels
    )


def _expanded(
    item: InputObject, others: dict[tuple[str, str], JsonObject], skipped: SkippedObjects
) -> list[InputObject]:
    """The pods and PodGroups of one workload."""
    workload = _parsed(item, others)
    reader = READERS.get(_group_kind(item.kind), kueue_job)
    try:
        units = reader(workload)
    except UnsupportedWorkloadError as error:
        skipped.add(item.kind, f"unsupported: {error.reason}")
        return []
    found: list[InputObject] = []
    for unit in units:
        gang = unit.min_member is not None
        if unit.min_member is not None:
            body = pod_group_body(unit.name, unit.min_member, item.namespace)
            found.append(InputObject(POD_GROUP, item.namespace, unit.name, body, item.where))
        for pods in unit.sets:
            found.extend(_pods(item, pods, unit.name if gang else ""))
    return found


def _parsed(item: InputObject, others: dict[tuple[str, str], JsonObject]) -> Workload:
    """A workload object for the readers."""
    whole = without_nulls(parse_object(item.body, item.title))
    meta = whole.get("metadata") or {}
    notes = {key: str(text) for part in _NOTES for key, text in (meta.get(part) or {}).items()}
    spec = whole.get("spec")
    return Workload(
        item.title,
        item.name,
        item.kind.kind,
        notes,
        spec if isinstance(spec, dict) else {},
        others,
    )


def _pods(item: InputObject, pods: PodSet, gang: str) -> list[InputObject]:
    """The pods of one set, each after its PVCs; ``gang`` is the name of their PodGroup or empty."""
    meta = pods.template.get("metadata") or {}
    group = {GROUP: gang} if gang else {}
    found = []
    for number in range(pods.count):
        name = f"{pods.name}-{number}"
        metadata = {
            "name": name,
            "namespace": item.namespace,
            "labels": {**(meta.get("labels") or {}), **pods.labels, **group},
            "annotations": {**(meta.get("annotations") or {}), **group},
            "ownerReferences": [_owner(item)],
        }
        spec = _with_claims(pods, name)
        whole = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
        body = msgspec.json.encode(whole)
        if number == 0:
            with inside(f"{item.title}: pod template {pods.name}"):
                check_new(POD, body)
        found += [_claim(item, each, each.name(name)) for each in pods.claims]
        found.append(InputObject(POD, item.namespace, name, body, item.where))
    return found


def _with_claims(pods: PodSet, pod: str) -> JsonObject:
    """The spec of one pod of a set, with the volumes of its PVCs."""
    spec: JsonObject = pods.template["spec"]
    if not pods.claims:
        return spec
    own = [
        {"name": each.volume, "persistentVolumeClaim": {"claimName": each.name(pod)}}
        for each in pods.claims
    ]
    return {**spec, "volumes": [*(spec.get("volumes") or ()), *own]}


def _claim(item: InputObject, source: OperatorClaim, name: str) -> InputObject:
    """A PVC of a workload."""
    meta = {**(source.template.get("metadata") or {}), "name": name, "namespace": item.namespace}
    body = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": meta,
        "spec": source.template.get("spec") or {},
    }
    return InputObject(
        PERSISTENT_VOLUME_CLAIM, item.namespace, name, msgspec.json.encode(body), item.where
    )


def _owner(item: InputObject) -> JsonObject:
    """The owner reference of the pods of a workload."""
    text = hashlib.sha256(f"{item.kind.resource}/{item.namespace}/{item.name}".encode()).hexdigest()
    uid = f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:32]}"
    return {
        "apiVersion": item.kind.api_version,
        "kind": item.kind.kind,
        "name": item.name,
        "uid": item.meta().uid or uid,
        "controller": True,
    }
