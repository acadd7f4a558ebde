"""Entries of the kinds of the Vertical Pod Autoscaler."""

from typing import Final

from stretto.api.checks.vertical import check_vertical_autoscaler
from stretto.api.kinds.entry import AGE, KEEP_ALL, Column, KindEntry, grant
from stretto.api.types.capacity import vertical
from stretto.api.wire import kinds

VERTICAL_POD_AUTOSCALER: Final = KindEntry(
    kind=kinds.VERTICAL_POD_AUTOSCALER,
    short_names=("vpa",),
    subresources=("status",),
    columns=(
        Column("Mode", ".spec.updatePolicy.updateMode"),
        Column("CPU", ".status.recommendation.containerRecommendations[0].target.cpu"),
        Column("Mem", ".status.recommendation.containerRecommendations[0].target.memory"),
        Column("Provided", ".status.conditions[?(@.type=='RecommendationProvided')].status"),
        AGE,
    ),
    struct=vertical.VerticalPodAutoscaler,
    check=check_vertical_autoscaler,
    rank=42,
    admits=True,
    recorded=True,
    kept=KEEP_ALL,
    grants=(*grant("vertical", "list watch"), *grant("vertical", "patch", "status")),
)
VERTICAL_CHECKPOINT: Final = KindEntry(
    kind=kinds.VERTICAL_CHECKPOINT,
    short_names=("vpacheckpoint",),
    struct=vertical.VerticalCheckpoint,
    rank=43,
    admits=True,
    recorded=True,
    kept=KEEP_ALL,
    grants=grant("vertical", "list watch create patch delete"),
)
