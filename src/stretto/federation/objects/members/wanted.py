"""The desired object of a member: template, overrides, marks, and fields that the member keeps."""

import copy
from collections.abc import Mapping
from typing import Final

from stretto.api.admission.schema import check_fields
from stretto.api.wire.kinds import Kind
from stretto.base.errors import InputError
from stretto.federation import names
from stretto.federation.objects.members.retention import retain
from stretto.federation.objects.overriding.patches import patched
from stretto.federation.objects.paths import field_at
from stretto.federation.objects.placements import Patches
from stretto.federation.types import FederatedType
from stretto.reconcile.cache import Fields, StoredObject

FORBIDDEN = ("/metadata/name", "/metadata/namespace", "/metadata/generateName", "/kind")
"""Fields that no override may change, because they identify the object."""
_REPLICAS: Final = "spec.replicas"


def desired(template: Fields, patches: Patches) -> Fields:
    """The object for one cluster, without the fields that the member keeps.

    Raises:
        InputError: an override cannot be applied.
    """
    name = template["metadata"]["name"]
    for each in patches:
        _refuse_forbidden(each, name)
    before = _with_finalizers(template) if patches else template
    made: Fields = patched(before, patches, name) if patches else copy.deepcopy(template)
    metadata = made["metadata"]
    if not metadata.get("finalizers"):
        metadata.pop("finalizers", None)
    generation = metadata.pop("generation", None)
    labels = {**(metadata.get("labels") or {}), names.MANAGED: "true"}
    notes = dict(metadata.get("annotations") or {})
    if generation is not None:
        notes[names.SOURCE_GENERATION] = str(generation)
    notes[names.PROPAGATED_LABELS] = ",".join(sorted(labels))
    notes[names.PROPAGATED_ANNOTATIONS] = ",".join(
        sorted(notes.keys() - {names.PROPAGATED_LABELS, names.PROPAGATED_ANNOTATIONS})
    )
    return {**made, "metadata": {**metadata, "labels": labels, "annotations": notes}}


def check(kind: Kind, wanted: Fields) -> dict[str, str]:
    """Check the fields of an object, which overrides may have changed.

    Returns:
        Problems of unknown fields, which a server drops, by their paths.

    Raises:
        InputError: a value does not have the type of its field.
    """
    found: dict[str, str] = {}
    name = wanted["metadata"]["name"]
    check_fields(kind, wanted, name, lambda each: found.update({each.path: each.sentence}))
    return found


def is_malformed(kind: Kind, wanted: Fields) -> bool:
    """True if a value does not have the type of its field."""
    try:
        check(kind, wanted)
    except InputError:
        return True
    return False


def has_metadata(wanted: Fields, present: StoredObject) -> bool:
    """True if a member's object has all desired labels and annotations.

    Changes of metadata do not change the generation.
    """
    metadata = wanted["metadata"]
    labels, notes = metadata.get("labels") or {}, metadata.get("annotations") or {}
    return labels.items() <= present.labels.items() and notes.items() <= present.annotations.items()


def keeps_replicas(federated: StoredObject) -> bool:
    """True if members set the replicas of an object themselves."""
    return federated.annotations.get(names.RETAIN_REPLICAS) == "true"


def kept_replicas(federated: StoredObject, type_: FederatedType) -> str:
    """Path of the replicas that members set themselves; empty if they set none.

    A type that is not divided has no path of its own. Its replicas are where Kubernetes' kinds have
    them, if they are anywhere.
    """
    if not keeps_replicas(federated):
        return ""
    if type_.paths.replicas_spec:
        return type_.paths.replicas_spec
    has_replicas = isinstance(field_at(federated.spec["template"], _REPLICAS), int)
    return _REPLICAS if has_replicas else ""


def merged(wanted: Fields, present: StoredObject, keeps_replicas: str) -> Fields:
    """The desired object with the fields that the member's object keeps.

    Args:
        wanted: the object for the cluster.
        present: the member's object.
        keeps_replicas: path of the replicas that the member sets; empty for none.
    """
    metadata = dict(wanted["metadata"])
    kept = present.metadata
    metadata["labels"] = _combined(
        wanted, present, "labels", _listed(present.annotations, names.PROPAGATED_LABELS)
    )
    metadata["annotations"] = _combined(
        wanted, present, "annotations", _listed(present.annotations, names.PROPAGATED_ANNOTATIONS)
    )
    for field in ("finalizers", "resourceVersion", "uid", "generation", "creationTimestamp"):
        if field in kept:
            metadata[field] = kept[field]
    return retain({**wanted, "metadata": metadata}, present.fields, keeps_replicas)


def applied(wanted: Fields, present: StoredObject, keeps_replicas: str) -> Fields:
    """The fields that the federation applies; the member keeps all others.

    Immutable fields of a kind come from the member. The arguments are those of ``merged``.
    """
    kept = retain(wanted, present.fields, keeps_replicas)
    metadata = wanted["metadata"]
    if names.ADOPTED in present.annotations:
        mark = {names.ADOPTED: present.annotations[names.ADOPTED]}
        metadata = {**metadata, "annotations": {**metadata["annotations"], **mark}}
    fields = {key: value for key, value in kept.items() if key != "status"}
    return {**fields, "metadata": metadata}


def _with_finalizers(template: Fields) -> Fields:
    """A template with a list of finalizers, so that operations can append to it."""
    return {**template, "metadata": {"finalizers": [], **template["metadata"]}}


def _refuse_forbidden(patch: Fields, name: str) -> None:
    """Refuse an operation that would change the identity of the object."""
    path = patch.get("path", "")
    if path in FORBIDDEN:
        raise InputError(f"override of {name}", path, "a field that does not identify the object")


def _listed(annotations: Mapping[str, str], key: str) -> set[str]:
    """The keys that an annotation lists."""
    return {each for each in annotations.get(key, "").split(",") if each}


def _combined(
    wanted: Fields, present: StoredObject, field: str, propagated: set[str]
) -> dict[str, str]:
    """Desired values, and values that the member has added itself."""
    found = present.metadata.get(field) or {}
    values = wanted["metadata"].get(field) or {}
    own = {key: value for key, value in found.items() if key not in propagated}
    return {**own, **values}
