"""NodeDeclaredFeatures: refuses nodes whose kubelet lacks a feature that the pod's spec needs.

Upstream derives the required features of the kubelet from the spec. Nodes declare their features in
their status, so that an older kubelet does not get a pod that it would misread.
"""

from collections.abc import Iterator
from typing import ClassVar, Final

import numpy as np

from stretto.api.types.pod import PodSpec
from stretto.framework.contract.rule import FilterPlugin, FixedCheck, NodeCheck, Scope
from stretto.framework.model.pod_facts import SchedulingFacts
from stretto.framework.model.snapshot import ParitySnapshot
from stretto.framework.model.status import SKIP, PluginStatus, refuse, unresolvable
from stretto.state.work.units import Cure

NAME: Final = "NodeDeclaredFeatures"
LACKING: Final = unresolvable("node(s) didn't match Pod's required features")
RESTART_ALL: Final = "RestartAllContainers"
"""Action of a restart rule that restarts every container of the pod."""


class NodeDeclaredFeaturesPlugin(FilterPlugin):
    """Refuses nodes that do not declare the features of the pod."""

    NAME: ClassVar[str] = NAME
    SCOPE: ClassVar[Scope] = Scope.STATIC
    CURES: ClassVar[Cure] = Cure.ANY

    def prefilter(self, pod: SchedulingFacts, snapshot: ParitySnapshot) -> NodeCheck | PluginStatus:
        """Statuses of nodes that lack a feature; skipped if no feature is needed."""
        needed = frozenset(needed_features(pod.pod.spec))
        if not needed:
            return SKIP
        nodes = snapshot.nodes
        declared = (each.status.declared_features for each in nodes.objects)
        lacking = (not needed.issubset(each) for each in declared)
        return FixedCheck(refuse(np.fromiter(lacking, np.bool_, nodes.count), LACKING))


def needed_features(spec: PodSpec) -> Iterator[str]:
    """Features that a node must declare for a pod."""
    containers = (*spec.containers, *spec.init_containers)
    rules = (rule for each in containers for rule in each.restart_policy_rules)
    if any(rule.action == RESTART_ALL for rule in rules):
        yield "RestartAllContainersOnContainerExits"
    if spec.host_network and spec.host_users is False:
        yield "UserNamespacesHostNetworkSupport"
