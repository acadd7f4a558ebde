"""NodeUnschedulable: cordoned nodes, unless the pod tolerates the taint that says so."""

from typing import ClassVar, Final

from stretto.api.types.core import Taint
from stretto.framework.model.eligible import tolerates
from stretto.framework.model.plugin import Check, FilterPlugin, Given
from stretto.framework.model.pod_facts import PodFacts
from stretto.framework.model.snapshot import Snapshot
from stretto.framework.model.status import Status, refuse, unresolvable

NAME: Final = "NodeUnschedulable"
REFUSED: Final = unresolvable("node(s) were unschedulable")
CORDON: Final = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")


class NodeUnschedulable(FilterPlugin):
    """Refuses cordoned nodes."""

    NAME: ClassVar[str] = NAME
    HAS_PREFILTER: ClassVar[bool] = False

    def prefilter(self, pod: PodFacts, snapshot: Snapshot) -> Check | Status:
        """All cordoned nodes, or none for a pod that tolerates cordons."""
        if tolerates(pod.pod.spec.tolerations, CORDON):
            return Given(None)
        return Given(refuse(snapshot.nodes.unschedulable, REFUSED))
