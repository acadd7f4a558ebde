"""A host and the members of a recording on real API servers, with the controllers in this process.

The servers serve the kinds of the recording and have its nodes; the clusters join with the labels
and taints that they had. What the servers bring along themselves stays on the host.
"""

import base64
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from typing import Any, Final

import msgspec

from stretto.api.kinds.federation import FEDERATED_CLUSTER, FEDERATED_TYPE_CONFIG, FEDERATION
from stretto.api.wire.kinds import NAMESPACE, NODE, Kind
from stretto.base.clock import Clock
from stretto.base.errors import TimeoutExpiredError, UnreachableError
from stretto.base.rng import Rng
from stretto.federation import names
from stretto.federation.assembly import Federation
from stretto.federation.connection.kube import KubeConnector
from stretto.federation.fleet import is_ready
from stretto.federation.objects.membership.kinds import SECRET
from stretto.stores.kube.login.access import KubeconfigAccess
from stretto.stores.kube.paths import collection_path, object_path
from stretto.stores.kube.store import KubeStore
from stretto_lab.conformance.wire.scenario import RecordedCluster
from stretto_lab.conformance.wire.setup import definitions, settings_of
from stretto_lab.conformance.wire.shared import kinds_of, node_body, type_config
from stretto_lab.control_plane.cluster import ControlPlane, ControlPlaneConfig
from stretto_lab.control_plane.credentials import ADMIN

Fields = dict[str, Any]

HOST: Final = "host"
"""Name of the host among the servers."""
WITHIN: Final = 120.0
"""Seconds within which all clusters join."""
STEP: Final = 0.1
"""Seconds between two steps of the controllers."""
_MEMBER: Final = ControlPlaneConfig(parts=("kube-controller-manager", "kube-scheduler", "kwok"))
_CREATED: Final = (201, 409)


class RealServers:
    """Running servers by name, and the controllers."""

    def __init__(self, planes: Mapping[str, ControlPlane], common: Fields, clock: Clock) -> None:
        """Prepare the servers.

        Args:
            planes: the host and the members by name.
            common: what all scenarios share: kinds, nodes and configurations.
            clock: real time.
        """
        #: The servers by name.
        self.planes = planes
        #: Stores of the servers by name.
        self.stores = {name: _store(each) for name, each in planes.items()}
        #: Real time.
        self.clock = clock
        self._common = common
        self._prepare_host()
        for name in self.members:
            self._prepare_member(name)
        #: The controllers.
        self.federation = Federation(
            self.stores[HOST], clock, settings_of(common), KubeConnector(Rng(1))
        )

    @property
    def members(self) -> list[str]:
        """Names of the members."""
        return [name for name in self.planes if name != HOST]

    def join(self, clusters: Sequence[RecordedCluster]) -> None:
        """Let clusters join, and wait until they are ready.

        Raises:
            TimeoutExpiredError: one is not ready in time.
        """
        for each in clusters:
            self._join(each)
        wanted = {each.name for each in clusters}

        def joined() -> bool:
            fleet = self.federation.fleet
            return wanted <= {x.record.name for x in fleet.clusters if is_ready(x)}

        if not self.run_until(joined, WITHIN):
            text = str(dict(self.federation.loop.errors))
            raise TimeoutExpiredError(f"joining {', '.join(sorted(wanted))}", text)

    def run_until(self, holds: Callable[[], bool], within: float) -> bool:
        """Run the controllers until something holds, or for some seconds; whether it holds."""
        end = self.clock.monotonic() + within
        while True:
            self.federation.loop.step()
            if holds():
                return True
            if self.clock.monotonic() >= end:
                return False
            self.clock.sleep(STEP)

    def close(self) -> None:
        """Stop the controllers and close all connections."""
        self.federation.close()
        for each in self.stores.values():
            each.close()

    # ---------------------------------------------------------------- set-up

    def _prepare_host(self) -> None:
        """The kinds and configurations; what the server has created itself stays on it."""
        host, plane = self.stores[HOST], self.planes[HOST]
        plane.install([*(entry.kind for entry in FEDERATION), *_custom(self._common)])
        self.create(HOST, NAMESPACE, {"metadata": {"name": names.SYSTEM_NAMESPACE}})
        stays = {"metadata": {"annotations": {names.NO_FEDERATION: "true"}}}
        for kind in kinds_of(self._common):
            for each in host.list(kind).records if kind != NAMESPACE else ():
                path = object_path(kind, each.namespace, each.name)
                plane.send("PATCH", path, msgspec.json.encode(stays))
        for config in self._common["typeConfigs"]:
            self.create(HOST, FEDERATED_TYPE_CONFIG.kind, type_config(config))

    def _prepare_member(self, name: str) -> None:
        """The kinds and nodes of a member."""
        self.planes[name].install(_custom(self._common))
        for node in self._common["nodes"].get(name) or ():
            body = msgspec.json.decode(node_body(node))
            self.create(name, NODE, body)
            status = msgspec.json.encode({"status": body["status"]})
            path = f"{object_path(NODE, '', body['metadata']['name'])}/status"
            self.planes[name].send("PATCH", path, status)

    def _join(self, cluster: RecordedCluster) -> None:
        """The secret and the FederatedCluster of a member."""
        plane = self.planes[cluster.name]
        given = {
            "certificate-authority-data": plane.credentials.ca.cert.read_bytes(),
            "bootstrap-token-data": plane.credentials.tokens[ADMIN].encode(),
        }
        data = {key: base64.b64encode(each).decode() for key, each in given.items()}
        metadata = {"name": cluster.name, "namespace": names.SYSTEM_NAMESPACE}
        self.create(HOST, SECRET, {"metadata": metadata, "data": data})
        spec = {
            "apiEndpoint": plane.server,
            "secretRef": {"name": cluster.name},
            "taints": cluster.taints,
            "useServiceAccount": True,
        }
        named: Fields = {"name": cluster.name, "labels": cluster.labels}
        self.create(HOST, FEDERATED_CLUSTER.kind, {"metadata": named, "spec": spec})

    def create(self, server: str, kind: Kind, body: Fields) -> None:
        """Create an object unless it exists.

        Raises:
            UnreachableError: the server refuses it.
        """
        whole = {"apiVersion": kind.api_version, "kind": kind.kind, **body}
        path = collection_path(kind, body["metadata"].get("namespace", ""))
        answer = self.planes[server].send("POST", path, msgspec.json.encode(whole))
        if answer.status not in _CREATED:
            raise UnreachableError(self.planes[server].server, answer.body.decode())


@contextmanager
def real_servers(common: Fields, clock: Clock) -> Iterator[RealServers]:
    """Start a host and the members of a recording; all at the same time."""
    planes = {HOST: ControlPlane()}
    planes |= {name: ControlPlane(_MEMBER) for name in common["clusters"]}
    with ExitStack() as stack, ThreadPoolExecutor(len(planes)) as pool:
        list(pool.map(stack.enter_context, planes.values()))
        servers = RealServers(planes, common, clock)
        stack.callback(servers.close)
        yield servers


def _custom(common: Fields) -> list[Kind]:
    """The kinds of a recording that an API server does not have by itself."""
    found = []
    for body in definitions(common):
        spec = body["spec"]
        version, named = spec["versions"][0]["name"], spec["names"]
        found.append(Kind(spec["group"], version, named["kind"], named["plural"]))
    return found


def _store(plane: ControlPlane) -> KubeStore:
    return KubeStore(KubeconfigAccess(plane.kubeconfig), Rng(5))
