"""Manifests of a host: native objects and policies, which are read, checked and created."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from stretto.api.admission.field_rules import check_field_rules
from stretto.api.admission.schema import check_fields
from stretto.api.kinds.federation import (
    CLUSTER_FEDERATED_OBJECT,
    FEDERATED_CLUSTER,
    FEDERATED_OBJECT,
    FEDERATION,
)
from stretto.api.kinds.kubernetes import KUBERNETES
from stretto.api.kinds.ours import OURS
from stretto.api.wire.kinds import DAEMON_SET, DEPLOYMENT, REPLICA_SET, STATEFUL_SET, Kind
from stretto.base.errors import InputError
from stretto.federation.objects.defaults import default_kinds
from stretto.inputs.objects.folders import SUFFIXES
from stretto.stores.store import Store

_SELECTING = (DEPLOYMENT, STATEFUL_SET, DAEMON_SET, REPLICA_SET)
"""Kinds whose selector is required."""
_CARRIERS = (FEDERATED_OBJECT.kind, CLUSTER_FEDERATED_OBJECT.kind)
"""Kinds that controllers write, including KubeAdmiral's, with fields that only these read."""


def read_objects(paths: Iterable[Path]) -> list[dict[str, Any]]:
    """All objects of some files and folders, in order.

    Raises:
        InputError: a file is not YAML, contains no object, or an object without kind or name.
    """
    found = [body for path in paths for file in _files(path) for body in _bodies(file)]
    if not found:
        raise InputError("MANIFESTS", None, "at least one object")
    return found


def _files(path: Path) -> Iterator[Path]:
    if path.is_dir():
        yield from sorted(each for each in path.rglob("*") if each.suffix in SUFFIXES)
    else:
        yield path


def _bodies(path: Path) -> Iterator[dict[str, Any]]:
    import yaml

    try:
        documents = list(yaml.safe_load_all(path.read_text("utf-8")))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InputError(str(path), None, "YAML", str(error).replace("\n", " ")) from error
    for document in documents:
        items = (document or {}).get("items") if _is_list(document) else [document]
        for body in items or ():
            if body is None:
                continue
            if not isinstance(body, dict) or not body.get("kind"):
                raise InputError(str(path), body, "an object with apiVersion and kind")
            if not (body.get("metadata") or {}).get("name"):
                raise InputError(f"{path}: {body['kind']}.metadata.name", None, "a name")
            yield body


def _is_list(document: Any) -> bool:
    return isinstance(document, dict) and str(document.get("kind", "")).endswith("List")


def kind_of(body: dict[str, Any], carried: Iterable[Kind]) -> Kind:
    """The kind of a manifest.

    Args:
        body: the manifest.
        carried: the federated kinds.

    Raises:
        InputError: the name is not one of these kinds, of Kubernetes or of a federation.
    """
    group = str(body.get("apiVersion") or "v1").rpartition("/")[0]
    for entry in (*carried, *_known()):
        if entry.kind == body.get("kind") and entry.group == group:
            return entry
    where = f"{body.get('kind')} {(body.get('metadata') or {}).get('name')}"
    expected = "a kind of Kubernetes, of core.kubeadmiral.io or of a FederatedTypeConfig"
    hint = "create the FederatedTypeConfig of the kind first"
    raise InputError(f"{where}: apiVersion", body.get("apiVersion"), expected, hint)


def _known() -> Iterable[Kind]:
    yield from (entry.kind for entry in (*FEDERATION, *KUBERNETES, *OURS))
    yield from default_kinds()


def checked(kind: Kind, body: dict[str, Any]) -> None:
    """Refuse an object that an API server with strict validation refuses.

    A wrong value in an object of the federation is reported in a condition instead.

    Raises:
        InputError: a field is unknown; or a native object has a field of a wrong type, or with a
            value that the API server refuses. The message contains its path.
    """
    if kind not in _CARRIERS:
        check_fields(kind, body, f"{kind.kind} {body['metadata']['name']}", None)
    if kind.group != FEDERATED_CLUSTER.kind.group:
        whole = _with_selector(body) if kind in _SELECTING else body
        check_field_rules(kind, whole)


def _with_selector(body: dict[str, Any]) -> dict[str, Any]:
    """A workload of a fleet file, completed with the selector and labels that may be omitted."""
    spec = body.get("spec") or {}
    template = spec.get("template")
    if spec.get("selector") or not isinstance(template, dict):
        return body
    metadata = template.get("metadata") or {}
    labels = metadata.get("labels") or {"app": body["metadata"]["name"]}
    labelled = {**template, "metadata": {**metadata, "labels": labels}}
    selector = {"matchLabels": labels}
    return {**body, "spec": {**spec, "selector": selector, "template": labelled}}


def put(store: Store, kind: Kind, body: dict[str, Any]) -> None:
    """Create an object.

    Raises:
        InputError: a field has a wrong type, or the store refuses the object.
    """
    checked(kind, body)
    reply = store.create(kind, [msgspec.json.encode(body)])[0]
    if reply.outcome.value != "ok":
        name = (body.get("metadata") or {}).get("name")
        raise InputError(f"{kind.kind} {name}", None, "a valid object", reply.message)
