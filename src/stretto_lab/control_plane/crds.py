"""Open-schema CRDs for all kinds that are not part of Kubernetes.

They let an API server store custom objects in tests and benches. The CRDs that are installed in
clusters have structural schemas, defaults and printer columns.
"""

from typing import Any, Final

import msgspec

from stretto.api.kinds.table import custom_kinds, entry_of
from stretto.api.wire.kinds import Kind

CUSTOM: Final = custom_kinds()
"""Kinds with a CRD."""

PATH: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
"""Path for creating CRDs."""

UNAPPROVED: Final = {"api-approved.kubernetes.io": "unapproved, open schema for tests"}
"""Annotation without which an API server refuses CRDs in the groups of Kubernetes."""


def definition(kind: Kind) -> bytes:
    """JSON of one CRD: open spec and status, with a status subresource if the kind has one."""
    open_object: dict[str, Any] = {
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": True,
    }
    schema = {"type": "object", "properties": {"spec": open_object, "status": open_object}}
    version = {
        "name": kind.version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}} if entry_of(kind).has_status else {},
    }
    names = {"kind": kind.kind, "plural": kind.plural, "singular": kind.kind.lower()}
    return msgspec.json.encode(
        {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": kind.resource, "annotations": UNAPPROVED},
            "spec": {
                "group": kind.group,
                "names": names,
                "scope": "Namespaced" if kind.namespaced else "Cluster",
                "versions": [version],
            },
        }
    )
