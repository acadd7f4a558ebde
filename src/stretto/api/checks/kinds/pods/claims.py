"""Rules of the specs of PersistentVolumeClaims: of objects and of templates."""

from typing import Final

from stretto.api.checks.fields.errors import Errors, forbidden, invalid, required
from stretto.api.checks.fields.texts import (
    check_annotations,
    check_labels,
    dns_label,
    dns_subdomain,
)
from stretto.api.checks.kinds.values import Json, check_selector, one_of
from stretto.api.wire.quantity import nano

MODES: Final = ("Block", "Filesystem")
"""Modes of volumes."""
ACCESS: Final = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
"""Access modes of volumes."""


def check_claim_template(template: Json, path: str) -> Errors:
    """Check the template of the PVC of an ephemeral volume: its metadata has only marks."""
    found = check_template_metadata(template.get("metadata") or {}, f"{path}.metadata")
    return found + check_claim_spec(template.get("spec") or {}, f"{path}.spec")


def check_template_metadata(metadata: Json, path: str) -> Errors:
    """Check the metadata of the template of a claim; only annotations and labels are valid."""
    found = check_annotations(metadata.get("annotations"), f"{path}.annotations")
    found += check_labels(metadata.get("labels"), f"{path}.labels")
    return found + [
        forbidden(f"{path}.{_GO_NAMES.get(name, name)}", "cannot be set")
        for name in _UNUSED
        if metadata.get(name) or (name in _COUNTED and metadata.get(name) is not None)
    ]


_UNUSED: Final = (
    "name", "generateName", "namespace", "selfLink", "uid", "resourceVersion", "generation",
    "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "ownerReferences",
    "finalizers",
)  # fmt: skip
"""Members of the metadata of an object that a template cannot set, in the order of Go."""
_COUNTED: Final = ("deletionGracePeriodSeconds",)
"""Members that are set although they are 0."""
_GO_NAMES: Final = {"uid": "uID"}
"""Names in messages that differ from those in the API."""


def check_claim_spec(spec: Json, path: str) -> Errors:
    """Check the spec of a PVC."""
    found: Errors = []
    modes = spec.get("accessModes") or []
    if not modes:
        found.append(required(f"{path}.accessModes", "at least 1 access mode is required"))
    found += check_selector(spec.get("selector"), f"{path}.selector")
    found += [error for mode in modes for error in one_of(mode, f"{path}.accessModes", ACCESS)]
    found += check_exclusive(modes, f"{path}.accessModes")
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
    found += _data_sources(spec, path)
    name = spec.get("volumeAttributesClassName")
    if name:
        where = f"{path}.volumeAttributesClassName"
        found += [invalid(where, name, each_) for each_ in dns_subdomain(name)]
    return found


def check_exclusive(modes: list[str], path: str) -> Errors:
    """Check that the access mode of a single pod is the only valid mode."""
    if "ReadWriteOncePod" not in modes or len(set(modes) & set(ACCESS)) == 1:
        return []
    return [forbidden(path, "may not use ReadWriteOncePod with other access modes")]


def _data_sources(spec: Json, path: str) -> Errors:
    """Check both forms of the data source of a PVC, which agree."""
    source, ref = spec.get("dataSource"), spec.get("dataSourceRef")
    found: Errors = []
    for name, each in (("dataSource", source), ("dataSourceRef", ref)):
        if each is not None:
            found += _data_source(each, f"{path}.{name}")
    if source is None or ref is None:
        return found
    if ref.get("namespace"):
        detail = "may not be specified when dataSourceRef.namespace is specified"
        return [*found, invalid(path, {}, detail)]  # kube-apiserver shows no value
    if any(source.get(each) != ref.get(each) for each in ("apiGroup", "kind", "name")):
        found.append(invalid(path, {}, "must match dataSourceRef"))
    return found


def _data_source(source: Json, path: str) -> Errors:
    found = [required(f"{path}.{each}") for each in ("name", "kind") if not source.get(each)]
    group, kind = source.get("apiGroup") or "", source.get("kind", "")
    if not group and kind != "PersistentVolumeClaim":
        detail = "must be 'PersistentVolumeClaim' when referencing the default apiGroup"
        found.append(invalid(path, kind, detail))
    if group:
        found += [invalid(f"{path}.apiGroup", group, each) for each in dns_subdomain(group)]
    space = source.get("namespace") or ""
    if space:
        found += [invalid(f"{path}.namespace", space, each) for each in dns_label(space)]
    return found
