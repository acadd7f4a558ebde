"""Replays a scenario against an embedded host and embedded members in virtual time."""

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from stretto.api.kinds.federation import FEDERATED_CLUSTER, FEDERATED_TYPE_CONFIG
from stretto.base.clock import ManualClock, timestamp
from stretto.federation.settings import KUBEADMIRAL
from stretto.sim.fleet.fleet import EmbeddedFleet, FleetParts
from stretto.stores.store import Patch
from stretto_lab.conformance.wire import requests
from stretto_lab.conformance.wire.outcome import outcome
from stretto_lab.conformance.wire.placeholders import filled
from stretto_lab.conformance.wire.scenario import (
    RecordedCluster,
    RecordedOutcome,
    UserStep,
    WireScenario,
)
from stretto_lab.conformance.wire.shared import (
    api_resource,
    course,
    equal_nodes,
    node_body,
    server_controllers,
    type_config,
)
from stretto_lab.conformance.wire.webhooks import RecordedWebhooks

EPOCH: Final = 1_790_000_000.0
"""Wall time at which every replay begins."""

Fields = dict[str, Any]


class WireReplay:
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
        webhooks = RecordedWebhooks(scenario.calls, self.clock, EPOCH)
        parts = FleetParts(course, server_controllers, webhooks)
        self.fleet = EmbeddedFleet(self.clock, KUBEADMIRAL, parts)
        self.host = self.fleet.host
        self.federation = self.fleet.federation
        for config in common["typeConfigs"]:
            self._create(FEDERATED_TYPE_CONFIG.kind, type_config(config))
        for each in scenario.clusters:
            self._add_cluster(each)

    def outcomes(self) -> Iterator[tuple[RecordedOutcome, Fields]]:
        """Each recorded outcome with what the replay has written by then."""
        for step in self._scenario.steps:
            self.fleet.run_until(EPOCH + step.t)
            if isinstance(step, UserStep):
                step = msgspec.structs.replace(step, body=self.filled(step.body))
                store = (
                    self.host if step.server == "host" else self.fleet.members[step.server].store
                )
                requests.apply(store, step)
            elif isinstance(step, RecordedOutcome):
                stores = {name: each.store for name, each in self.fleet.members.items()}
                yield step, outcome(self.federation, self.host, stores)

    def filled(self, value: Any) -> Any:
        """A recorded value with its relative times filled in."""
        return filled(value, EPOCH)

    # ---------------------------------------------------------------- inside

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
            "apiResourceTypes": [api_resource(each) for each in self._common["memberKinds"]],
        }
        self.host.patch_status(kind, [Patch("", cluster.name, {"status": status})])
        named = self._common["nodes"].get(cluster.name) or equal_nodes(cluster.resources)
        nodes = [node_body(each) for each in named]
        self.fleet.add_member(cluster.name, nodes)
