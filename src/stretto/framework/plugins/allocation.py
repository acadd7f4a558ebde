"""NodeResourcesBalancedAllocation: prefers nodes whose resources would be used evenly.

100 minus the standard deviation of the used shares, in percent; for CPU and memory that is half
their difference. The score rates the node including the pod. (kube-scheduler 1.36 also compares
with the balance before; see ``docs/parity/kube-scheduler.md``.)
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from stretto.framework.compiled.amounts import amount_score
from stretto.framework.compiled.tables import CompiledScore, ScoreCode
from stretto.framework.contract import arguments as read
from stretto.framework.contract.requests import amount_of
from stretto.framework.contract.rule import IntArray, Scope, ScoreRule, SlotArray, View
from stretto.state.classes.table import PodClass
from stretto.state.rows.resources import ResourceColumns

NAME: Final = "NodeResourcesBalancedAllocation"


class NodeResourcesBalancedAllocationRule(ScoreRule):
    """Scores by the evenness of use."""

    NAME: ClassVar[str] = NAME
    SCOPE: ClassVar[Scope] = Scope.SLOT

    def __init__(self, args: Mapping[str, Any]) -> None:
        """Read ``resources: [{name}]``; weights are allowed and, as in Kubernetes, ignored."""
        super().__init__(args)
        given = read.arguments(args, ("resources",), NAME)
        #: Resources whose use is balanced.
        self.resources = read.resource_weights(given.get("resources"), f"args of {NAME}: resources")

    def score(self, pod: PodClass, view: View, slots: SlotArray) -> IntArray:
        """int32[k]: 100 for even use."""
        amounts = [amount_of(pod, view, name, slots) for name, _ in self.resources]
        return amount_score(self.compiled(view.columns.ledger.resources), amounts)

    def compiled(self, resources: ResourceColumns) -> CompiledScore:
        """Compiled balance over its columns."""
        columns = tuple(resources.column(name) for name, _ in self.resources)
        return CompiledScore(ScoreCode.BALANCED, columns, (1.0,) * len(columns))
