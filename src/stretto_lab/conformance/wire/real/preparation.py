"""Preparation of real servers for a replay: kinds, configurations, nodes, joining clusters."""

import base64
from typing import Any, Final

import msgspec

from stretto.api.kinds.federation import FEDERATED_CLUSTER, FEDERATED_TYPE_CONFIG, FEDERATION
from stretto.api.wire.kinds import NAMESPACE, NODE, Kind
from stretto.base.errors import UnreachableError
from stretto.federation import names
from stretto.federation.objects.membership.kinds import SECRET
from stretto.stores.kube.paths import collection_path, object_path
from stretto.stores.store import Store
from stretto_lab.conformance.wire.scenario import RecordedCluster
from stretto_lab.conformance.wire.setup import UNMARKED, definitions
from stretto_lab.conformance.wire.shared import kinds_of, node_body, type_config
from stretto_lab.control_plane.cluster import ControlPlane
from stretto_lab.control_plane.credentials import ADMIN

Fields = dict[str, Any]

_CREATED: Final = (201, 409)


def prepare_host(plane: ControlPlane, store: Store, common: Fields) -> None:
    """Create kinds and configurations; most objects of the server itself are marked to stay on it.

    Args:
        plane: the server.
        store: its objects.
        common: common data of all scenarios.
    """
    plane.install([*(entry.kind for entry in FEDERATION), *_custom(common)])
    create(plane, NAMESPACE, {"metadata": {"name": names.SYSTEM_NAMESPACE}})
    stays = msgspec.json.encode({"metadata": {"annotations": {names.NO_FEDERATION: "true"}}})
    free = {(kind.resource, *name) for kind, *name in UNMARKED}
    for kind in kinds_of(common):
        for each in store.list(kind).records:
            if (kind.resource, each.namespace, each.name) not in free:
                plane.send("PATCH", object_path(kind, each.namespace, each.name), stays)
    for config in common["typeConfigs"]:
        create(plane, FEDERATED_TYPE_CONFIG.kind, type_config(config))


def prepare_member(plane: ControlPlane, name: str, common: Fields) -> None:
    """Create the kinds and nodes of a member."""
    plane.install(_custom(common))
    for node in common["nodes"].get(name) or ():
        body = msgspec.json.decode(node_body(node))
        create(plane, NODE, body)
        path = object_path(NODE, "", body["metadata"]["name"])
        plane.send("PATCH", f"{path}/status", msgspec.json.encode({"status": body["status"]}))
        # The server taints a new node as not ready; the controller that removes the taint does not
        # run.
        taints = msgspec.json.encode({"spec": {"taints": body["spec"]["taints"]}})
        plane.send("PATCH", path, taints)


def join(host: ControlPlane, member: ControlPlane, cluster: RecordedCluster) -> None:
    """Create the secret and the FederatedCluster of a member."""
    given = {
        "certificate-authority-data": member.credentials.ca.cert.read_bytes(),
        "bootstrap-token-data": member.credentials.tokens[ADMIN].encode(),
    }
    data = {key: base64.b64encode(each).decode() for key, each in given.items()}
    secret = f"{cluster.name}-secret"
    place = {"name": secret, "namespace": names.SYSTEM_NAMESPACE}
    create(host, SECRET, {"metadata": place, "data": data})
    spec = {
        "apiEndpoint": member.server,
        "secretRef": {"name": secret},
        "taints": cluster.taints,
        "useServiceAccount": cluster.use_service_account,
    }
    named: Fields = {"name": cluster.name, "labels": cluster.labels}
    create(host, FEDERATED_CLUSTER.kind, {"metadata": named, "spec": spec})


def create(plane: ControlPlane, kind: Kind, body: Fields) -> None:
    """Create an object unless it exists.

    Raises:
        UnreachableError: the server refuses the object.
    """
    whole = {"apiVersion": kind.api_version, "kind": kind.kind, **body}
    path = collection_path(kind, body["metadata"].get("namespace", ""))
    answer = plane.send("POST", path, msgspec.json.encode(whole))
    if answer.status not in _CREATED:
        raise UnreachableError(plane.server, answer.body.decode())


def _custom(common: Fields) -> list[Kind]:
    """The kinds of a recording that an API server does not serve by default."""
    found = []
    for body in definitions(common):
        spec = body["spec"]
        version, named = spec["versions"][0]["name"], spec["names"]
        found.append(Kind(spec["group"], version, named["kind"], named["plural"]))
    return found
