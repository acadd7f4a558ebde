"""A real host and a real member: join, propagate, lose the member, leave."""

import base64
import time
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest

from stretto.api.kinds.federation import (
    FEDERATED_CLUSTER,
    FEDERATION,
    PROPAGATION_POLICY,
)
from stretto.api.wire.kinds import CONFIG_MAP, NAMESPACE, Kind
from stretto.base.clock import WallClock
from stretto.base.rng import Rng
from stretto.federation import names
from stretto.federation.assembly import Federation
from stretto.federation.bootstrap import bootstrap
from stretto.federation.connection.kube import KubeConnector
from stretto.federation.objects.membership.kinds import CLUSTER_ROLE, SECRET
from stretto.federation.objects.membership.rights import ROLE
from stretto.federation.settings import FederationSettings
from stretto.stores.kube.store import KubeStore
from stretto.stores.render import render
from stretto.stores.store import Deletion
from stretto_lab.control_plane.cluster import ControlPlane, ControlPlaneConfig
from stretto_lab.control_plane.credentials import ADMIN
from tests.e2e.plane import store_of

pytestmark = [pytest.mark.kube, pytest.mark.slow]

Fields = dict[str, Any]
SPACE = names.SYSTEM_NAMESPACE
SETTINGS = FederationSettings(health_period=2.0, health_threshold=4.0, drift_delay=1.0)
WITHIN = 90.0


class RealFleet:
    """A federation over a real host and a real member."""

    def __init__(self, host: ControlPlane, member: ControlPlane) -> None:
        self.plane = member
        self.host: KubeStore = store_of(host)
        self.member: KubeStore = store_of(member)
        host.install([entry.kind for entry in FEDERATION])
        assert f"Namespace {SPACE}" in bootstrap(self.host)
        self.put(NAMESPACE, "team")
        self.federation = Federation(self.host, WallClock(), SETTINGS, KubeConnector(Rng(1)))

    def put(self, kind: Kind, name: str, **fields: Any) -> None:
        metadata = {"name": name, **fields.pop("metadata", {})}
        body = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, **fields}
        reply = self.host.create(kind, [msgspec.json.encode(body)])[0]
        assert reply.outcome.value == "ok", reply.message

    def join(self) -> None:
        authority = self.plane.credentials.ca.cert.read_bytes()
        token = self.plane.credentials.tokens[ADMIN].encode()
        data = {
            "certificate-authority-data": base64.b64encode(authority).decode(),
            "bootstrap-token-data": base64.b64encode(token).decode(),
        }
        self.put(SECRET, "east", metadata={"namespace": SPACE}, data=data)
        spec = {
            "apiEndpoint": self.plane.server,
            "secretRef": {"name": "east"},
            "useServiceAccount": True,
        }
        self.put(FEDERATED_CLUSTER.kind, "east", spec=spec)
        self.until(lambda: self.condition("Ready") == "True")

    def condition(self, type_: str) -> str:
        status = self.shown(self.host, FEDERATED_CLUSTER.kind, "", "east").get("status") or {}
        found = {each["type"]: each["status"] for each in status.get("conditions") or ()}
        return found.get(type_, "")

    def shown(self, store: KubeStore, kind: Kind, namespace: str, name: str) -> Fields:
        record = store.get(kind, namespace, name)
        return msgspec.json.decode(render(record)) if record is not None else {}

    def until(self, done: Callable[[], bool]) -> None:
        """Run the controllers until something holds."""
        end = time.monotonic() + WITHIN
        while not done():
            assert time.monotonic() < end, self.federation.loop.errors
            self.federation.loop.step()
            time.sleep(0.1)


@pytest.fixture
def fleet() -> Iterator[RealFleet]:
    member = ControlPlaneConfig(parts=("kube-controller-manager",))
    with ControlPlane() as host, ControlPlane(member) as east:
        yield RealFleet(host, east)


def test_a_real_member_joins_carries_objects_falls_silent_and_leaves(fleet: RealFleet) -> None:
    fleet.join()
    role = fleet.shown(fleet.member, CLUSTER_ROLE, "", ROLE)
    assert "*" not in [each for rule in role["rules"] for each in rule.get("resources", ())]
    status = fleet.shown(fleet.host, FEDERATED_CLUSTER.kind, "", "east")["status"]
    assert {"ConfigMap", "Deployment"} <= {each["kind"] for each in status["apiResourceTypes"]}

    mode = {"schedulingMode": "Duplicate"}
    fleet.put(PROPAGATION_POLICY.kind, "all", metadata={"namespace": "team"}, spec=mode)
    labelled = {"namespace": "team", "labels": {names.POLICY: "all"}}
    fleet.put(CONFIG_MAP, "conf", metadata=labelled, data={"a": "b"})
    fleet.until(lambda: bool(fleet.shown(fleet.member, CONFIG_MAP, "team", "conf")))

    fleet.plane["kube-apiserver"].pause()
    fleet.until(lambda: fleet.condition("Offline") == "True")
    assert fleet.condition("Ready") == "Unknown"
    fleet.plane["kube-apiserver"].resume()
    fleet.until(lambda: fleet.condition("Ready") == "True")

    fleet.host.delete(FEDERATED_CLUSTER.kind, [Deletion("", "east")])
    fleet.until(lambda: not fleet.shown(fleet.host, FEDERATED_CLUSTER.kind, "", "east"))
    assert fleet.shown(fleet.member, CONFIG_MAP, "team", "conf")["data"] == {"a": "b"}
