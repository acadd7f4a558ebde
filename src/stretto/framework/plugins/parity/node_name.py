"""NodeName: a pod that names its node goes nowhere else."""

from typing import ClassVar, Final

import numpy as np

from stretto.framework.model.plugin import FilterPlugin, FixedCheck, NodeCheck
from stretto.framework.model.pod_facts import SchedulingFacts
from stretto.framework.model.snapshot import ParitySnapshot
from stretto.framework.model.status import PluginStatus, refuse, unresolvable

NAME: Final = "NodeName"
REFUSED: Final = unresolvable("node(s) didn't match the requested node name")


class NodeNamePlugin(FilterPlugin):
    """Refuses every other node."""

    NAME: ClassVar[str] = NAME
    HAS_PREFILTER: ClassVar[bool] = False

    def prefilter(self, pod: SchedulingFacts, snapshot: ParitySnapshot) -> NodeCheck | PluginStatus:
        """All nodes but the one named."""
        name = pod.pod.spec.node_name
        if not name:
            return FixedCheck(None)
        others = np.ones(snapshot.nodes.count, np.bool_)
        at = snapshot.nodes.index.get(name)
        if at is not None:
            others[at] = False
        return FixedCheck(refuse(others, REFUSED))
