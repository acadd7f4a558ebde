"""NodeName: a pod that names its node is placed there or nowhere."""

from collections.abc import Hashable, Mapping
from typing import Any, ClassVar, Final

import numpy as np

from stretto.framework.contract.arguments import arguments
from stretto.framework.contract.rule import (
    BoolArray,
    FilterRule,
    Restrict,
    Scope,
    SlotArray,
    Subject,
    View,
)
from stretto.state.classes.table import PodClass
from stretto.state.work.units import Cure

NAME: Final = "NodeName"
REASON: Final = "node(s) didn't match the requested node name"


class NodeNameRule(FilterRule):
    """Allows the one node of ``spec.nodeName``; does not concern pods without it."""

    NAME: ClassVar[str] = NAME
    SCOPE: ClassVar[Scope] = Scope.STATIC
    REASON: ClassVar[str] = REASON
    RESOLVABLE: ClassVar[bool] = False
    CURES: ClassVar[Cure] = Cure.NODE_ADDED
    SUBJECT: ClassVar[Subject] = Subject.NODE_CHOICE
    PREFILTERS: ClassVar[bool] = False

    def __init__(self, args: Mapping[str, Any]) -> None:
        """Accept no arguments."""
        super().__init__(args)
        arguments(args, (), NAME)

    def signature(self, pod: PodClass) -> Hashable | None:
        """The node's name."""
        return pod.spec.node_name or None

    def prepare(self, pod: PodClass, view: View) -> Restrict | None:
        """Restrict to the named node's slot; to no slot while there is no such node."""
        if not pod.spec.node_name:
            return None
        return Restrict(view.nodes.slots_named((pod.spec.node_name,)))

    def filter(self, pod: PodClass, view: View, slots: SlotArray) -> BoolArray:
        """bool[k]: true on the named node."""
        if not pod.spec.node_name:
            return np.ones(len(slots), np.bool_)
        passes: BoolArray = slots == view.nodes.by_name.get(pod.spec.node_name, -1)
        return passes
