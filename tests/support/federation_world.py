"""A federation in memory: a host, three members of equal capacity, and short ways to use them."""

from typing import Any

import msgspec

from stretto.api.kinds.federation import (
    FEDERATED_CLUSTER,
    FEDERATED_OBJECT,
    FEDERATED_TYPE_CONFIG,
    PROPAGATION_POLICY,
)
from stretto.api.wire.kinds import DEPLOYMENT, NAMESPACE, Kind
from stretto.base.clock import ManualClock
from stretto.federation import names
from stretto.federation.settings import FederationSettings
from stretto.sim.fleet.fleet import EmbeddedFleet
from stretto.sim.fleet.parts import DEFAULT_PARTS, FleetParts
from stretto.stores.render import render
from stretto.stores.store import Patch, Store
from stretto.testing import make_node

Fields = dict[str, Any]
REPLICAS = {"replicasSpec": "spec.replicas", "readyReplicasStatus": "status.readyReplicas"}


class FederationWorld:
    """A host and three members with equal capacity."""

    def __init__(
        self,
        settings: FederationSettings = FederationSettings(),  # noqa: B008
        parts: FleetParts = DEFAULT_PARTS,
    ) -> None:
        self.clock = ManualClock(1_000_000.0)
        self.fleet = EmbeddedFleet(self.clock, settings, parts)
        self.host: Store = self.fleet.host
        scheduled = [[names.SCHEDULER], [names.OVERRIDES]]
        self.type("deployments.apps", DEPLOYMENT, scheduled, REPLICAS)
        self.type("namespaces", NAMESPACE, [[names.NAMESPACES], [names.OVERRIDES]])
        for name in ("alpha", "beta", "gamma"):
            self.join(name)

    def type(
        self, name: str, kind: Kind, pipeline: list[list[str]], paths: Fields | None = None
    ) -> None:
        source = {
            "group": kind.group,
            "version": kind.version,
            "kind": kind.kind,
            "pluralName": kind.plural,
            "scope": "Namespaced" if kind.namespaced else "Cluster",
        }
        spec = {
            "sourceType": source,
            "controllers": pipeline,
            "pathDefinition": paths or {},
            "autoMigration": {"enabled": kind == DEPLOYMENT},
        }
        self.create(FEDERATED_TYPE_CONFIG.kind, name, spec=spec)

    def join(self, name: str) -> None:
        self.create(FEDERATED_CLUSTER.kind, name, spec={})
        served = [
            {"group": "apps", "version": "v1", "kind": "Deployment"},
            {"group": "", "version": "v1", "kind": "ConfigMap"},
        ]
        status = {
            "conditions": [{"type": each, "status": "True"} for each in ("Joined", "Ready")],
            "apiResourceTypes": served,
            "resources": {"allocatable": {"cpu": "8"}, "available": {"cpu": "8"}},
        }
        self.host.patch_status(FEDERATED_CLUSTER.kind, [Patch("", name, {"status": status})])
        self.fleet.add_member(name, [make_node(f"{name}-0", cpu=8)])

    def create(self, kind: Kind, name: str, **fields: Any) -> None:
        metadata = {"name": name, **fields.pop("metadata", {})}
        self.host.create(kind, [msgspec.json.encode({"metadata": metadata, **fields})])

    def policy(self, **spec: Any) -> None:
        equal = [{"cluster": each, "preferences": {"weight": 1}} for each in self.fleet.members]
        given = {"schedulingMode": "Divide", "placement": equal, **spec}
        self.create(PROPAGATION_POLICY.kind, "plan", spec=given)

    def condition(self, type_: str) -> tuple[str, str, str] | None:
        """Status, reason and message of a condition of the federated Deployment."""
        for each in self.federated().get("status", {}).get("conditions", ()):
            if each["type"] == type_:
                return each["status"], each.get("reason", ""), each.get("message", "")
        return None

    def policy_patch(self, **spec: Any) -> None:
        self.host.patch(PROPAGATION_POLICY.kind, [Patch("default", "plan", {"spec": spec})])

    def deployment(
        self,
        replicas: int = 6,
        *,
        volumes: tuple[str, ...] | list[str] = (),
        cpu: str = "100m",
        name: str = "web",
        **annotations: str,
    ) -> None:
        requests = {"requests": {"cpu": cpu}}
        container = {"name": "main", "image": "app:v1", "resources": requests}
        named = [{"name": each, "configMap": {"name": each}} for each in volumes]
        pod = {"containers": [container], "volumes": named}
        spec = {"replicas": replicas, "template": {"spec": pod}}
        metadata = {
            "labels": {names.POLICY: "plan"},
            "annotations": {names.PREFIX + key: value for key, value in annotations.items()},
        }
        self.create(DEPLOYMENT, name, metadata=metadata, spec=spec)

    def run(self, seconds: float = 20.0) -> None:
        self.fleet.run_until(self.clock.monotonic() + seconds)

    def federated(self, name: str = "web") -> Fields:
        record = self.host.get(FEDERATED_OBJECT.kind, "default", f"{name}-deployments.apps")
        assert record is not None
        fields: Fields = msgspec.json.decode(render(record))
        return fields

    def placed(self) -> dict[str, int | None]:
        """Replicas of the Deployment by member."""
        found: dict[str, int | None] = {}
        for name, member in self.fleet.members.items():
            record = member.store.get(DEPLOYMENT, "default", "web")
            if record is not None:
                found[name] = msgspec.json.decode(render(record))["spec"].get("replicas")
        return found
