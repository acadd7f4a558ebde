"""TaintToleration: hard taints keep a pod away, and the fewest soft ones score best."""

from typing import ClassVar, Final

from stretto.api.types.core import Taint
from stretto.framework.model.eligible import tolerates, untolerated
from stretto.framework.model.nodes import NodeColumns
from stretto.framework.model.normalise import at, by_maximum
from stretto.framework.model.plugin import FilterPlugin, FixedCheck, NodeCheck, ScorePlugin
from stretto.framework.model.pod_facts import SchedulingFacts
from stretto.framework.model.snapshot import ParitySnapshot
from stretto.framework.model.status import IntArray, PluginStatus, refuse, unresolvable

NAME: Final = "TaintToleration"
REFUSED: Final = unresolvable("node(s) had untolerated taint(s)")
SOFT: Final = "PreferNoSchedule"


class TaintTolerationPlugin(FilterPlugin, ScorePlugin):
    """Refuses hard taints that are not tolerated, counts soft ones."""

    NAME: ClassVar[str] = NAME
    WEIGHT: ClassVar[int] = 3
    HAS_PREFILTER: ClassVar[bool] = False

    def prefilter(self, pod: SchedulingFacts, snapshot: ParitySnapshot) -> NodeCheck | PluginStatus:
        """Nodes with a hard taint that the pod does not tolerate."""
        return FixedCheck(refuse(untolerated(pod, snapshot.nodes), REFUSED))

    def score(
        self, pod: SchedulingFacts, snapshot: ParitySnapshot, feasible: IntArray
    ) -> IntArray | None:
        """The fewer soft taints that are not tolerated, the better."""
        nodes = snapshot.nodes
        key = ("soft taints", pod.shape.toleration_key)
        return by_maximum(at(nodes.kept(key, lambda: _soft(pod, nodes)), feasible), reverse=True)


def _soft(pod: SchedulingFacts, nodes: NodeColumns) -> IntArray:
    """int64[n]: soft taints that the pod does not tolerate."""
    borne = [each for each in pod.pod.spec.tolerations if each.effect in ("", SOFT)]

    def count(taints: tuple[Taint, ...]) -> int:
        return sum(each.effect == SOFT and not tolerates(borne, each) for each in taints)

    return nodes.taints_where(count)
