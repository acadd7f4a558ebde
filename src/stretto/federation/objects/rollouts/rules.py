"""The policy of a rollout, from a source's Deployment, and its progress, as an annotation."""

from collections.abc import Mapping

import msgspec

from stretto.base.errors import InputError
from stretto.federation import names
from stretto.federation.planner.fenceposts import resolve
from stretto.federation.planner.rollout.policy import RolloutPolicy, RolloutProgress, RolloutStage
from stretto.reconcile.cache import Fields


class StageRule(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Clusters that are updated together."""

    #: Names of the clusters.
    clusters: tuple[str, ...]
    #: Seconds between the completion of the stage and the start of the next one.
    soak_seconds: float = 0.0
    #: True if the next stage needs an approval.
    approval: bool = False


class RolloutRule(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """The annotation ``stretto.dev/rollout`` of a source."""

    #: Stages in order; clusters without a stage form the last one.
    stages: tuple[StageRule, ...] = ()
    #: Seconds without progress after which the rollout fails; ``None`` for no limit.
    limit_seconds: float | None = None
    #: True if a failed rollout returns to the previous revision.
    rollback: bool = False
    #: True if running updates are paused.
    paused: bool = False
    #: Numbers of stages, from 0, after which the next stage is approved.
    approved: tuple[int, ...] = ()


class RolloutNotes(msgspec.Struct, frozen=True, rename="camel"):
    """The annotation ``stretto.dev/rollout-status`` of a federated object."""

    #: The revision that is rolled out.
    revision: str
    #: The previous revision; empty for the first one.
    previous: str = ""
    #: Number of completed stages.
    stages: int = 0
    #: Completion time of the last completed stage, in seconds since the epoch.
    done_at: float = 0.0
    #: Available pods of the revision.
    available: int = 0
    #: Time at which ``available`` last increased, in seconds since the epoch.
    progress_at: float = 0.0
    #: True if the rollout failed.
    failed: bool = False
    #: Result of the last plan.
    verdict: str = ""
    #: Maximum number of pods by cluster until the next plan. A restarted controller has no other
    #: information about a cluster that does not answer, because the desired replicas may change
    #: meanwhile.
    most: dict[str, int] = {}


def rule_of(annotations: Mapping[str, str]) -> RolloutRule:
    """The rule of a federated object; the default without the annotation.

    Raises:
        InputError: the annotation is malformed.
    """
    text = annotations.get(names.ROLLOUT)
    if text is None:
        return RolloutRule()
    try:
        return msgspec.json.decode(text.encode(), type=RolloutRule)
    except (msgspec.DecodeError, ValueError) as error:
        example = '{"stages": [{"clusters": ["canary"], "soakSeconds": 600}], "rollback": true}'
        raise InputError(names.ROLLOUT, text, f"JSON such as {example}", str(error)) from error


def policy_of(rule: RolloutRule, template: Fields, replicas: int) -> RolloutPolicy:
    """The policy of a Deployment with a number of replicas over all clusters.

    Raises:
        InputError: a limit or the rule is malformed.
    """
    rolling = ((template.get("spec") or {}).get("strategy") or {}).get("rollingUpdate") or {}
    surge, unavailable = resolve(
        rolling.get("maxSurge", "25%"), rolling.get("maxUnavailable", "25%"), replicas
    )
    if rule.limit_seconds is not None and rule.limit_seconds <= 0:
        raise InputError(f"{names.ROLLOUT}: limitSeconds", rule.limit_seconds, "seconds above 0")
    for each in rule.stages:
        if each.soak_seconds < 0:
            raise InputError(f"{names.ROLLOUT}: soakSeconds", each.soak_seconds, "0 or more")
    stages = tuple(
        RolloutStage(each.clusters, each.soak_seconds, each.approval) for each in rule.stages
    )
    return RolloutPolicy(surge, unavailable, stages, rule.limit_seconds, rule.rollback)


def notes_of(annotations: Mapping[str, str], revision: str, now: float) -> RolloutNotes:
    """The notes of a federated object for a revision; new notes for a new revision."""
    try:
        found = msgspec.json.decode(
            annotations.get(names.ROLLOUT_STATUS, "").encode(), type=RolloutNotes
        )
    except (msgspec.DecodeError, ValueError):
        found = RolloutNotes(revision, progress_at=now, done_at=now)
    if found.revision == revision:
        return found
    return RolloutNotes(revision, found.revision, done_at=now, progress_at=now, most=found.most)


def progress_of(rule: RolloutRule, notes: RolloutNotes, now: float) -> RolloutProgress:
    """Progress as input of a plan."""
    return RolloutProgress(
        since_done_s=now - notes.done_at,
        since_progress_s=now - notes.progress_at,
        approved=frozenset(rule.approved),
        paused=rule.paused,
        failed=notes.failed,
    )


def noted(notes: RolloutNotes, stages: int, available: int, now: float) -> RolloutNotes:
    """The notes after an observation of the members."""
    if stages != notes.stages:
        at = now if stages > notes.stages else notes.done_at
        notes = msgspec.structs.replace(notes, stages=stages, done_at=at)
    if available != notes.available:
        at = now if available > notes.available else notes.progress_at
        notes = msgspec.structs.replace(notes, available=available, progress_at=at)
    return notes


def ended(notes: RolloutNotes, failed: bool, verdict: str, most: dict[str, int]) -> RolloutNotes:
    """The notes after a plan."""
    return msgspec.structs.replace(notes, failed=failed, verdict=verdict, most=most)


def written(notes: RolloutNotes) -> str:
    """The annotation for some notes."""
    return msgspec.json.encode(notes).decode()


def changed_note(annotations: Mapping[str, str], notes: RolloutNotes) -> str | None:
    """The annotation for some notes; ``None`` if the federated object has it already."""
    text = written(notes)
    return text if annotations.get(names.ROLLOUT_STATUS) != text else None
