"""Rules of the specs of PersistentVolumeClaims: of objects and of templates."""

from typing import Final

from stretto.api.checks.fields.errors import Errors, forbidden, invalid, required
from stretto.api.checks.fields.texts import check_annotations, check_labels, dns_subdomain
from stretto.api.checks.kinds.values import Json, check_selector, one_of
from stretto.api.wire.quantity import nano

MODES: Final = ("Block", "Filesystem")
"""Modes of volumes."""
ACCESS: Final = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
"""Access modes of volumes."""


def check_claim_template(template: Json, path: str) -> Errors:
    """Check the template of the PVC of an ephemeral volume: its metadata has only marks."""
    metadata = template.get("metadata") or {}
    found = check_annotations(metadata.get("annotations"), f"{path}.metadata.annotations")
    found += check_labels(metadata.get("labels"), f"{path}.metadata.labels")
    found += [
        forbidden(f"{path}.metadata.{name}", "cannot be set")
        for name in metadata
        if name not in ("annotations", "labels") and metadata[name]
    ]
    return found + check_claim_spec(template.get("spec") or {}, f"{path}.spec")


def check_claim_spec(spec: Json, path: str) -> Errors:
    """Check the spec of a PVC."""
    found: Errors = []
    modes = spec.get("accessModes") or []
    if not modes:
        found.append(required(f"{path}.accessModes", "at least 1 access mode is required"))
    found += check_selector(spec.get("selector"), f"{path}.selector")
    found += [error for mode in modes for error in one_of(mode, f"{path}.accessModes", ACCESS)]
    if "ReadWriteOncePod" in modes and len(modes) > 1:
        detail = "may not use ReadWriteOncePod with other access modes"
        found.append(forbidden(f"{path}.accessModes", detail))
    requests = (spec.get("resources") or {}).get("requests") or {}
    where = f"{path}.resources[storage]"
    if "storage" not in requests:
        found.append(required(where))
    elif nano(requests["storage"], where) <= 0:
        found.append(invalid(where, requests["storage"], "must be greater than zero"))
    name = spec.get("storageClassName")
    if name:
        found += [invalid(f"{path}.storageClassName", name, each_) for each_ in dns_subdomain(name)]
    if spec.get("volumeMode") is not None:
        found += one_of(spec["volumeMode"], f"{path}.volumeMode", MODES)
    name = spec.get("volumeAttributesClassName")
    if name:
        where = f"{path}.volumeAttributesClassName"
        found += [invalid(where, name, each_) for each_ in dns_subdomain(name)]
    return found
