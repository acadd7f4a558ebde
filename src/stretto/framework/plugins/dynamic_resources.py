"""DynamicResources: refuses pods with resource claims, because no allocator of devices exists here.

A kubelet never starts a pod of ``spec.resourceClaims`` that is bound while its claims are not
allocated. Therefore the pod is refused, with kube-scheduler's reason, until it changes. No profile
can disable this filter.
"""

from collections.abc import Hashable, Mapping
from typing import Any, ClassVar, Final

import numpy as np

from stretto.framework.contract.arguments import arguments
from stretto.framework.contract.rule import (
    BoolArray,
    FilterRule,
    Scope,
    SlotArray,
    Subject,
    View,
)
from stretto.state.classes.table import PodClass
from stretto.state.work.units import Cure

NAME: Final = "DynamicResources"
REASON: Final = "cannot allocate all claims"


class DynamicResourcesRule(FilterRule):
    """Refuses pods with resource claims everywhere."""

    NAME: ClassVar[str] = NAME
    SCOPE: ClassVar[Scope] = Scope.STATIC
    RESOLVABLE: ClassVar[bool] = False
    CURES: ClassVar[Cure] = Cure.POD_CHANGED
    SUBJECT: ClassVar[Subject] = Subject.RESOURCE_CLAIMS
    WEIGHT: ClassVar[int] = 2
    PERMANENT: ClassVar[bool] = True
    REASON: ClassVar[str] = REASON

    def __init__(self, args: Mapping[str, Any]) -> None:
        """Accept kube-scheduler's arguments, which have no effect here."""
        super().__init__(args)
        arguments(args, ("filterTimeout", "bindingTimeout"), NAME)

    def signature(self, pod: PodClass) -> Hashable | None:
        """Equal for all pods with claims; ``None`` for other pods."""
        return NAME if pod.spec.resource_claims else None

    def filter(self, pod: PodClass, view: View, slots: SlotArray) -> BoolArray:
        """bool[k]: false everywhere for a pod with claims."""
        return np.full(len(slots), not pod.spec.resource_claims)
