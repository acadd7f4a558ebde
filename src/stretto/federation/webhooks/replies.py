"""Replies of webhooks, by stage."""

from typing import Annotated, Final

import msgspec

MOST_POINTS: Final = 1 << 40
"""Maximum absolute score; 100 times this value must fit in 64 bits."""

Points = Annotated[int, msgspec.Meta(ge=-MOST_POINTS, le=MOST_POINTS)]


class FilterReply(msgspec.Struct, frozen=True):
    """Decision about one cluster."""

    #: True if the cluster may run the workload.
    selected: bool = False
    #: Error of the server; empty if there is none.
    error: str = ""


class ScoreReply(msgspec.Struct, frozen=True):
    """The score of a cluster."""

    #: The score; the largest of all clusters becomes 100.
    score: Points = 0
    #: Error of the server; empty if there is none.
    error: str = ""


class FilterBatchReply(msgspec.Struct, frozen=True):
    """The clusters that may run the workload."""

    #: Decision by cluster name; absent clusters are rejected.
    selected: dict[str, bool] = {}
    #: Error of the server; empty if there is none.
    error: str = ""


class ScoreBatchReply(msgspec.Struct, frozen=True):
    """The scores of all clusters."""

    #: Scores by cluster name; absent clusters have score 0.
    scores: dict[str, Points] = {}
    #: Error of the server; empty if there is none.
    error: str = ""


class ReplicasReply(msgspec.Struct, frozen=True):
    """The replicas of the selected clusters."""

    #: Replicas by cluster name; absent clusters get none.
    replicas: dict[str, Annotated[int, msgspec.Meta(ge=0, le=MOST_POINTS)]] = {}
    #: Error of the server; empty if there is none.
    error: str = ""


class SelectReply(msgspec.Struct, frozen=True, rename="camel"):
    """The clusters to use."""

    #: Their names.
    selected_cluster_names: tuple[str, ...] = ()
    #: Error of the server; empty if there is none.
    error: str = ""
