"""Answers of webhooks, by stage."""

from typing import Annotated, Final

import msgspec

MOST_POINTS: Final = 1 << 40
"""Largest absolute score; a multiple by 100 must fit 64 bits."""

Points = Annotated[int, msgspec.Meta(ge=-MOST_POINTS, le=MOST_POINTS)]


class FilterReply(msgspec.Struct, frozen=True):
    """Whether a cluster may run the workload."""

    #: True if it may.
    selected: bool = False
    #: Why the server cannot say; empty if it can.
    error: str = ""


class ScoreReply(msgspec.Struct, frozen=True):
    """The score of a cluster."""

    #: The score; the largest of all clusters becomes 100.
    score: Points = 0
    #: Why the server cannot say; empty if it can.
    error: str = ""


class FilterBatchReply(msgspec.Struct, frozen=True):
    """The clusters that may run the workload."""

    #: Whether each may, by name; those that are absent may not.
    selected: dict[str, bool] = {}
    #: Why the server cannot say; empty if it can.
    error: str = ""


class ScoreBatchReply(msgspec.Struct, frozen=True):
    """The scores of all clusters."""

    #: Scores by name; those that are absent are 0.
    scores: dict[str, Points] = {}
    #: Why the server cannot say; empty if it can.
    error: str = ""


class ReplicasReply(msgspec.Struct, frozen=True):
    """The replicas of the selected clusters."""

    #: Replicas by name; those that are absent get none.
    replicas: dict[str, Annotated[int, msgspec.Meta(ge=0, le=MOST_POINTS)]] = {}
    #: Why the server cannot say; empty if it can.
    error: str = ""


class SelectReply(msgspec.Struct, frozen=True, rename="camel"):
    """The clusters to use."""

    #: Their names.
    selected_cluster_names: tuple[str, ...] = ()
    #: Why the server cannot say; empty if it can.
    error: str = ""
