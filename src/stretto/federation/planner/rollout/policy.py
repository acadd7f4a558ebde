"""Progress of a rollout: stages of clusters, gates between them, limits, rollback."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from stretto.base.errors import InputError
from stretto.federation.planner.rollout.member import MemberSpec, RolloutMember


@dataclass(frozen=True, slots=True)
class RolloutStage:
    """Clusters that are updated together; a canary is a stage of one cluster."""

    #: The clusters, in the order in which they use the budget.
    clusters: tuple[str, ...]
    #: Seconds between the completion of the healthy stage and the start of the next one.
    soak_s: float = 0.0
    #: True if the next stage needs an approval.
    approval: bool = False


@dataclass(frozen=True, slots=True)
class RolloutPolicy:
    """The limits and the stages of a rollout."""

    #: Pods above the replicas, over all clusters.
    max_surge: int
    #: Unavailable pods, over all clusters.
    max_unavailable: int
    #: Stages; clusters without a stage form the last one, by name.
    stages: tuple[RolloutStage, ...] = ()
    #: Seconds without progress after which the rollout fails; ``None`` for no limit.
    limit_s: float | None = None
    #: True if a failed rollout returns to the previous revision.
    rollback: bool = False

    def __post_init__(self) -> None:
        for field_name in ("max_surge", "max_unavailable"):
            if getattr(self, field_name) < 0:
                raise InputError(field_name, getattr(self, field_name), "0 or more pods")
        if not self.max_surge and not self.max_unavailable:
            raise InputError("max_unavailable", 0, "at least 1 if max_surge is 0")
        seen: set[str] = set()
        for each in self.stages:
            for name in each.clusters:
                if name in seen:
                    raise InputError("stages", name, "each cluster in one stage")
                seen.add(name)

    def staged(self, names: tuple[str, ...]) -> tuple[RolloutStage, ...]:
        """Stages with exactly the given clusters."""
        listed = {name for each in self.stages for name in each.clusters}
        known = [
            RolloutStage(tuple(n for n in each.clusters if n in names), each.soak_s, each.approval)
            for each in self.stages
        ]
        rest = tuple(sorted(set(names) - listed))
        return (*known, RolloutStage(rest)) if rest else tuple(known)


@dataclass(frozen=True, slots=True)
class RolloutProgress:
    """Progress of a rollout; the caller keeps it between plans."""

    #: Seconds since the completion of the last completed stage.
    since_done_s: float = 0.0
    #: Seconds since a pod of the new revision last became available.
    since_progress_s: float = 0.0
    #: Numbers of the stages after which the next stage is approved.
    approved: frozenset[int] = frozenset()
    #: True if an operator has paused the rollout.
    paused: bool = False
    #: True if an earlier plan failed; a failed rollout does not resume automatically.
    failed: bool = False


@dataclass(frozen=True, slots=True)
class RolloutDemand:
    """A workload in a rollout."""

    #: Replicas of the workload.
    replicas: int
    #: The new revision.
    revision: str
    #: The previous revision.
    previous: str
    #: The workload in every cluster.
    members: tuple[RolloutMember, ...]
    #: Its policy.
    policy: RolloutPolicy
    #: Its progress.
    progress: RolloutProgress = field(default_factory=RolloutProgress)


class RolloutVerdict(Enum):
    """Result of a plan."""

    #: Clusters change.
    PROGRESSING = "progressing"
    #: All clusters run the desired replicas of the new revision.
    DONE = "done"
    #: The next stage waits for its soak time or an approval.
    WAITING = "waiting"
    #: An operator has paused the rollout.
    PAUSED = "paused"
    #: Health checks fail, or the time limit has passed; no further cluster updates.
    FAILED = "failed"
    #: A failed rollout returns to the previous revision.
    ROLLING_BACK = "rolling back"
    #: All clusters run the previous revision again.
    ROLLED_BACK = "rolled back"


@dataclass(frozen=True, slots=True)
class RolloutPlan:
    """The next specification of every cluster."""

    #: Result of the plan.
    verdict: RolloutVerdict
    #: Specifications to write; other clusters keep theirs.
    specs: Mapping[str, MemberSpec]
    #: Surge that no cluster uses; negative if too many pods exist.
    surge_left: int
    #: Unavailable pods that no cluster uses; negative if too few pods are available.
    unavailable_left: int
