"""Conversion of a source to the template and the metadata of its federated object."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from stretto.federation import names
from stretto.federation.objects import pending
from stretto.federation.types import FederatedType
from stretto.reconcile.cache import Fields, StoredObject

_DROPPED: Final = frozenset(
    {"creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "finalizers",
     "managedFields", "ownerReferences", "resourceVersion", "selfLink", "uid"}
)  # fmt: skip
"""Fields of the metadata that are not sent to members."""


@dataclass(frozen=True, slots=True)
class SourceParts:
    """Parts of a source: content for members, and metadata that configures the federation."""

    #: The object as it is sent to members.
    template: Fields
    #: Labels of the federated object.
    labels: dict[str, str]
    #: Annotations of the federated object, without those of other controllers.
    annotations: dict[str, str]


def split(source: StoredObject, type_: FederatedType) -> SourceParts:
    """Split a source."""
    kind = type_.kind
    fed_labels, own_labels = _split(source.labels, names.POLICY_LABELS)
    steering, own = _split(source.annotations, names.FEDERATED_ANNOTATIONS)
    feedback = {key: own.pop(key) for key in names.FEEDBACK_ANNOTATIONS & own.keys()}
    metadata = {key: value for key, value in source.metadata.items() if key not in _DROPPED}
    metadata |= {"labels": own_labels, "annotations": own}
    template = {key: value for key, value in source.fields.items() if key != "status"}
    template |= {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata}
    observed = {
        names.OBSERVED_ANNOTATIONS: _keys(steering, own | feedback),
        names.OBSERVED_LABELS: _keys(fed_labels, own_labels),
        names.TEMPLATE_PATCH: _patch(source, metadata),
    }
    return SourceParts(template, {kind.api_version: kind.kind, **fed_labels}, steering | observed)


def updated(federated: StoredObject, parts: SourceParts, type_: FederatedType) -> Fields | None:
    """The federated object after a change of its source; ``None`` if nothing changes.

    Labels and annotations of other controllers stay; those that the source no longer has are
    removed.
    """
    before = federated.annotations
    gone_labels = _observed(before.get(names.OBSERVED_LABELS, "")) - parts.labels.keys()
    gone = _observed(before.get(names.OBSERVED_ANNOTATIONS, "")) - parts.annotations.keys()
    labels = {key: value for key, value in federated.labels.items() if key not in gone_labels}
    notes = {key: value for key, value in before.items() if key not in gone}
    labels |= parts.labels
    notes |= parts.annotations
    if (labels, notes, parts.template) == (
        dict(federated.labels),
        dict(before),
        federated.spec.get("template"),
    ):
        return None
    notes[names.PENDING] = pending.written(type_.pipeline)
    metadata = {**federated.metadata, "labels": labels, "annotations": notes}
    spec = {**federated.spec, "template": parts.template}
    return {**federated.fields, "metadata": metadata, "spec": spec}


def created(name: str, source: StoredObject, parts: SourceParts, type_: FederatedType) -> Fields:
    """A new federated object of a source."""
    owner = {
        "apiVersion": type_.kind.api_version,
        "kind": type_.kind.kind,
        "name": source.record.name,
        "uid": source.record.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
    kind = type_.federated_kind
    metadata: Fields = {
        "name": name,
        "labels": parts.labels,
        "annotations": {
            **parts.annotations,
            names.PENDING: pending.written(type_.pipeline),
        },
        "ownerReferences": [owner],
    }
    if kind.namespaced:
        metadata["namespace"] = source.record.namespace
    return {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": metadata,
        "spec": {"template": parts.template},
    }


def _split(
    values: Mapping[str, str], steering: frozenset[str]
) -> tuple[dict[str, str], dict[str, str]]:
    """Values whose keys configure the federation, and the other values."""
    inner = {key: value for key, value in values.items() if key in steering}
    return inner, {key: value for key, value in values.items() if key not in steering}


def _keys(federated: Mapping[str, str], own: Mapping[str, str]) -> str:
    """The annotation that lists the keys in the federated object and the keys in the template."""
    return f"{','.join(sorted(federated))}|{','.join(sorted(own))}" if federated or own else ""


def _observed(text: str) -> set[str]:
    """The keys that were copied to the federated object."""
    return {key for key in text.partition("|")[0].split(",") if key}


def _patch(source: StoredObject, metadata: Fields) -> str:
    """The JSON merge patch from the source to the template."""
    change: Fields = dict.fromkeys(sorted(_DROPPED & source.metadata.keys()))
    for field, before in (("annotations", source.annotations), ("labels", source.labels)):
        gone = dict.fromkeys(sorted(before.keys() - metadata[field].keys()))
        if gone or not before:
            change[field] = gone
    patch: Fields = {"metadata": dict(sorted(change.items()))}
    if "status" in source.fields:
        patch["status"] = None
    return json.dumps(patch, separators=(",", ":"))
