"""JSON of small objects that a Kubernetes API server accepts as they are."""

import json
from typing import Any

from stretto.api.wire.kinds import Kind


def pod(name: str, **metadata: Any) -> bytes:
    """A pod with small requests; keywords go into its metadata."""
    spec = {"containers": [{"name": "main", "image": "registry.example/pause:3"}]}
    return body(metadata={"name": name, **metadata}, spec=spec)


def node(name: str, **metadata: Any) -> bytes:
    """A node."""
    return body(metadata={"name": name, **metadata})


def config(name: str, **metadata: Any) -> bytes:
    """A ConfigMap: the plainest object there is."""
    return body(metadata={"name": name, **metadata}, data={"key": "value"})


def budget(name: str, namespace: str, **spec: Any) -> bytes:
    """A disruption budget over pods with ``app=web`` unless the spec selects others."""
    selector = {"matchLabels": {"app": "web"}}
    return body(
        metadata={"name": name, "namespace": namespace}, spec={"selector": selector, **spec}
    )


def body(**fields: Any) -> bytes:
    """An object as JSON."""
    return json.dumps(fields).encode()


def typed(kind: Kind, plain: bytes) -> bytes:
    """An object with its type, as an API server requires."""
    named = {"apiVersion": kind.api_version, "kind": kind.kind}
    return json.dumps(named | json.loads(plain)).encode()
