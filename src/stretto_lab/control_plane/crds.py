"""Custom resource definitions of every kind that is not Kubernetes' own, with open schemas.

They let an API server keep our objects in tests and benches; what is installed in clusters has
structural schemas, defaults and printer columns.
"""

from typing import Any, Final

import msgspec

from stretto.api.kinds.table import custom_kinds
from stretto.api.wire.kinds import Kind

CUSTOM: Final = custom_kinds()
"""The kinds that need a definition."""

PATH: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
"""Where definitions are created."""


def definition(kind: Kind) -> bytes:
    """The JSON of one definition: any spec and status, status as a subresource."""
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
        "subresources": {"status": {}},
    }
    names = {"kind": kind.kind, "plural": kind.plural, "singular": kind.kind.lower()}
    return msgspec.json.encode(
        {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": kind.resource},
            "spec": {
                "group": kind.group,
                "names": names,
                "scope": "Namespaced" if kind.namespaced else "Cluster",
                "versions": [version],
            },
        }
    )
