"""Replays a scenario against an embedded host and embedded members in virtual time."""

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from stretto.api.kinds.federation import FEDERATED_CLUSTER, FEDERATED_TYPE_CONFIG
from stretto.base.clock import ManualClock, timestamp
from stretto.base.rng import Rng
from stretto.federation.assembly import Federation
from stretto.federation.settings import KUBEADMIRAL
from stretto.stores.embedded.memory import MemoryStore
from stretto.stores.store import Patch
from stretto_lab.conformance.wire import requests
from stretto_lab.conformance.wire.outcome import outcome
from stretto_lab.conformance.wire.scenario import (
    RecordedCluster,
    RecordedOutcome,
    UserStep,
    WireScenario,
)

EPOCH: Final = 1_790_000_000.0
"""Wall time at which every replay begins."""

Fields = dict[str, Any]


class Replay:
    """A host, its members and the controllers, driven by the steps of a scenario."""

    def __init__(self, scenario: WireScenario, common: Fields) -> None:
        """Set the clusters up as they were when the scenario began.

        Args:
            scenario: the scenario.
            common: what all scenarios share: kinds, nodes and configurations.
        """
        self.clock = ManualClock(EPOCH)
        self._scenario = scenario
        self._common = common
        self.host = MemoryStore(self.clock, Rng(1))
        self.members = {
            each.name: MemoryStore(self.clock, Rng(2 + number))
            for number, each in enumerate(scenario.clusters)
        }
        self.federation = Federation(self.host, self.clock, KUBEADMIRAL)
        for config in common["typeConfigs"]:
            self._create(FEDERATED_TYPE_CONFIG.kind, _type_config(config))
        for each in scenario.clusters:
            self._add_cluster(each)

    def outcomes(self) -> Iterator[tuple[RecordedOutcome, Fields]]:
        """Each recorded outcome with what the replay has written by then."""
        for step in self._scenario.steps:
            self._run_until(EPOCH + step.t)
            if isinstance(step, UserStep):
                store = self.host if step.server == "host" else self.members[step.server]
                requests.apply(store, step)
            elif isinstance(step, RecordedOutcome):
                yield step, outcome(self.federation, self.host, self.members)

    # ---------------------------------------------------------------- inside

    def _run_until(self, end: float) -> None:
        """Run the controllers until a time."""
        self.federation.loop.step()
        while (due := self.federation.loop.next_due()) is not None and due <= end:
            self.clock.set(max(due, self.clock.monotonic()))
            self.federation.loop.step()
        self.clock.set(max(end, self.clock.monotonic()))
        self.federation.loop.step()

    def _create(self, kind: Any, body: Fields) -> None:
        self.host.create(kind, [msgspec.json.encode(body)])

    def _add_cluster(self, cluster: RecordedCluster) -> None:
        """A cluster that has joined already."""
        kind = FEDERATED_CLUSTER.kind
        now = timestamp(EPOCH)
        conditions = [
            {"type": name, "status": value, "lastTransitionTime": now, "lastProbeTime": now}
            for name, value in cluster.conditions.items()
        ]
        body = {
            "apiVersion": kind.api_version,
            "kind": kind.kind,
            "metadata": {"name": cluster.name, "labels": cluster.labels},
            "spec": {"taints": cluster.taints, "useServiceAccount": cluster.use_service_account},
        }
        self._create(kind, body)
        status = {
            "conditions": conditions,
            "resources": cluster.resources,
            "apiResourceTypes": [_api_resource(each) for each in self._common["memberKinds"]],
        }
        self.host.patch_status(kind, [Patch("", cluster.name, {"status": status})])
        self.federation.connect(cluster.name, self.members[cluster.name])


def _type_config(config: Fields) -> Fields:
    """A FederatedTypeConfig as the common file describes it."""
    source = {
        "group": config["group"],
        "version": config["version"],
        "kind": config["kind"],
        "pluralName": config["plural"],
        "scope": "Namespaced" if config["namespaced"] else "Cluster",
    }
    spec: Fields = {
        "sourceType": source,
        "controllers": [
            [f"kubeadmiral.io/{each}" for each in group] for group in config["pipeline"]
        ],
        "statusAggregation": {"enabled": config["statusAggregation"]},
        "autoMigration": {"enabled": config["autoMigration"]},
        "pathDefinition": config["paths"],
    }
    if config["collected"] is not None:
        spec["statusCollection"] = {"enabled": True, "fields": config["collected"]}
    metadata = {"name": config["name"], "annotations": config["annotations"]}
    return {"metadata": metadata, "spec": spec}


def _api_resource(text: str) -> Fields:
    """A kind that members serve, written ``group/version Kind``."""
    api_version, _, kind = text.partition(" ")
    group, _, version = api_version.rpartition("/")
    group = "" if group == "core" else group
    return {"group": group, "version": version, "kind": kind}
