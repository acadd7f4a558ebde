"""TaintToleration under kube-parity: the shared filter, and the fewest soft taints score best."""

from typing import ClassVar

import numpy as np

from stretto.framework.contract.rule import NodeScores, ScorePlugin
from stretto.framework.contract.shared import SharedFilter, view_of
from stretto.framework.model.nodes import NodeColumns
from stretto.framework.model.normalise import at, by_maximum
from stretto.framework.model.pod_facts import SchedulingFacts
from stretto.framework.model.snapshot import ParitySnapshot
from stretto.framework.plugins.taints import SOFT, TaintTolerationRule
from stretto.state.classes.table import PodClass


class UpstreamTaints(TaintTolerationRule):
    """The rule without comparisons, which are off by default in kube-scheduler."""

    COMPARES: ClassVar[bool] = False


class TaintTolerationPlugin(SharedFilter, ScorePlugin, rule=UpstreamTaints):
    """Shares the filter; scales the counts of soft taints by the largest."""

    rule: UpstreamTaints

    def score(
        self, pod: SchedulingFacts, snapshot: ParitySnapshot, feasible: NodeScores
    ) -> NodeScores | None:
        """Number of soft taints that the pod does not tolerate; fewer score higher."""
        pod_class, nodes = pod.as_class, snapshot.nodes
        key = (self.NAME, "score", self.rule.score_signature(pod_class))
        counts = nodes.kept(key, lambda: self._untolerated(pod_class, nodes))
        return by_maximum(at(counts, feasible), reverse=True)

    def _untolerated(self, pod: PodClass, nodes: NodeColumns) -> NodeScores:
        """int64[n]: number of soft taints that the pod does not tolerate."""
        counts = self.rule.untolerated(pod, view_of(nodes), nodes.everywhere, SOFT)
        return counts.astype(np.int64)
