"""NodeUnschedulable: cordoned nodes, unless the pod tolerates the taint that says so."""

from typing import ClassVar, Final

from stretto.api.types.core import Taint
from stretto.framework.model.eligible import tolerates
from stretto.framework.model.plugin import FilterPlugin, FixedCheck, NodeCheck
from stretto.framework.model.pod_facts import SchedulingFacts
from stretto.framework.model.snapshot import ParitySnapshot
from stretto.framework.model.status import PluginStatus, refuse, unresolvable

NAME: Final = "NodeUnschedulable"
REFUSED: Final = unresolvable("node(s) were unschedulable")
CORDON: Final = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")


class NodeUnschedulablePlugin(FilterPlugin):
    """Refuses cordoned nodes."""

    NAME: ClassVar[str] = NAME
    HAS_PREFILTER: ClassVar[bool] = False

    def prefilter(self, pod: SchedulingFacts, snapshot: ParitySnapshot) -> NodeCheck | PluginStatus:
        """All cordoned nodes, or none for a pod that tolerates cordons."""
        if tolerates(pod.pod.spec.tolerations, CORDON):
            return FixedCheck(None)
        return FixedCheck(refuse(snapshot.nodes.unschedulable, REFUSED))
