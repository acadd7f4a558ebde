"""End of a Job: its limits, its policies, and the number of completions."""

from collections import Counter
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from stretto.reconcile.cache import Fields, StoredObject
from stretto.workloads.jobs.indexes import from_text, index_of, indexes_of


class PodVerdict(Enum):
    """Effect of a failed pod on its Job."""

    #: The failure counts against the limits.
    COUNTS = "Count"
    #: The failure does not count.
    IGNORED = "Ignore"
    #: The index of the pod fails without a further attempt.
    ENDS_INDEX = "FailIndex"
    #: The whole Job fails.
    ENDS_JOB = "FailJob"


@dataclass(frozen=True)
class JobEnd:
    """The end of a Job."""

    #: True if the Job completed.
    is_success: bool
    #: Reason of its conditions.
    reason: str
    #: Message of its conditions.
    message: str


@dataclass(frozen=True)
class JobPods:
    """The pods of a Job, by their outcome."""

    #: The spec of the Job.
    spec: Fields
    #: Pods that run or will run.
    active: list[StoredObject]
    #: Pods that succeeded.
    succeeded: list[StoredObject]
    #: Pods that failed.
    failed: list[StoredObject]
    #: Pods that are being deleted and have not ended.
    stopping: list[StoredObject]

    @property
    def waits_for_stopping(self) -> bool:
        """Return whether a pod is replaced only after it has ended."""
        by_policy = "Failed" if self.spec.get("podFailurePolicy") else "TerminatingOrFailed"
        return bool(self.spec.get("podReplacementPolicy", by_policy) == "Failed")

    @property
    def is_indexed(self) -> bool:
        """Return whether each completion has an index."""
        return self.spec.get("completionMode") == "Indexed"

    @property
    def completions(self) -> int | None:
        """Number of pods that must succeed; ``None`` if one success ends the work queue."""
        stated = self.spec.get("completions")
        return None if stated is None else int(stated)

    @property
    def done(self) -> int:
        """Number of completions: of pods, or of different indexes."""
        return len(indexes_of(self.succeeded)) if self.is_indexed else len(self.succeeded)

    def failed_indexes(self) -> set[int]:
        """Indexes that are not retried; empty without ``backoffLimitPerIndex``."""
        limit = self.spec.get("backoffLimitPerIndex")
        if limit is None:
            return set()
        verdicts = [(index_of(pod), verdict(self.spec, pod)) for pod in self.failed]
        counts = Counter(index for index, found in verdicts if found is PodVerdict.COUNTS)
        over = {index for index, count in counts.items() if count > int(limit)}
        over |= {index for index, found in verdicts if found is PodVerdict.ENDS_INDEX}
        return {index for index in over if index is not None} - indexes_of(self.succeeded)


def verdict(spec: Fields, pod: StoredObject) -> PodVerdict:
    """The action for a failed pod of the first matching rule in the ``podFailurePolicy``."""
    for rule in (spec.get("podFailurePolicy") or {}).get("rules") or ():
        if _matches(rule, pod):
            return PodVerdict(rule["action"])
    return PodVerdict.COUNTS


def _matches(rule: Fields, pod: StoredObject) -> bool:
    codes = rule.get("onExitCodes")
    if codes is not None:
        return any(_code_matches(codes, each) for each in _exits(pod))
    stated = {(each.get("type"), each.get("status")) for each in pod.status.get("conditions") or ()}
    wanted = rule.get("onPodConditions") or ()
    return any((each["type"], each.get("status") or "True") in stated for each in wanted)


def _exits(pod: StoredObject) -> list[tuple[str, int]]:
    """Name and exit code of the containers of a failed pod."""
    statuses: list[Any] = [
        *(pod.status.get("initContainerStatuses") or ()),
        *(pod.status.get("containerStatuses") or ()),
    ]
    ends = [(each["name"], (each.get("state") or {}).get("terminated")) for each in statuses]
    return [(name, int(end["exitCode"])) for name, end in ends if end and end.get("exitCode")]


def _code_matches(codes: Fields, exit_of: tuple[str, int]) -> bool:
    name, code = exit_of
    if codes.get("containerName") not in (None, name):
        return False
    return bool((code in codes["values"]) == (codes["operator"] == "In"))


def end_of(pods: JobPods, age_s: float | None) -> JobEnd | None:
    """The end of a Job; ``None`` while it continues.

    Args:
        pods: its pods.
        age_s: seconds since its start; ``None`` before the start.
    """
    return _failure(pods, age_s) or _success(pods)


def _failure(pods: JobPods, age_s: float | None) -> JobEnd | None:
    spec = pods.spec
    for pod in pods.failed:
        if verdict(spec, pod) is PodVerdict.ENDS_JOB:
            name = f"{pod.record.namespace}/{pod.record.name}"
            text = f"Pod {name} has failed and matches a rule with the action FailJob"
            return JobEnd(False, "PodFailurePolicy", text)
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and age_s is not None and age_s >= float(deadline):
        text = "Job was active longer than specified deadline"
        return JobEnd(False, "DeadlineExceeded", text)
    if pods.done < (pods.completions or 1) and _exceeds_limit(pods):
        return JobEnd(False, "BackoffLimitExceeded", "Job has reached the specified backoff limit")
    ended = pods.failed_indexes()
    most = spec.get("maxFailedIndexes")
    if most is not None and len(ended) > int(most):
        text = "Job has exceeded the specified maximal number of failed indexes"
        return JobEnd(False, "MaxFailedIndexesExceeded", text)
    if ended and pods.done + len(ended) >= (pods.completions or 0):
        return JobEnd(False, "FailedIndexes", "Job has failed indexes")
    return None


def _exceeds_limit(pods: JobPods) -> bool:
    """Return whether pods have failed, or containers restarted, too often for ``backoffLimit``."""
    limit = int(pods.spec.get("backoffLimit", 6))
    template = (pods.spec.get("template") or {}).get("spec") or {}
    restarts = sum(
        int(each.get("restartCount") or 0)
        for pod in pods.active
        for each in pod.status.get("containerStatuses") or ()
    )
    restarted = template.get("restartPolicy") == "OnFailure" and restarts >= max(1, limit)
    return restarted or _counted(pods) > limit


def _counted(pods: JobPods) -> int:
    return sum(verdict(pods.spec, pod) is not PodVerdict.IGNORED for pod in pods.failed)


_REACHED: Final = JobEnd(True, "CompletionsReached", "Reached expected number of succeeded pods")


def _success(pods: JobPods) -> JobEnd | None:
    rules = (pods.spec.get("successPolicy") or {}).get("rules") or ()
    succeeded = indexes_of(pods.succeeded)
    for number, rule in enumerate(rules):
        wanted = from_text(rule.get("succeededIndexes") or "", pods.completions or 0)
        among = succeeded & wanted if wanted else succeeded
        if len(among) >= int(rule.get("succeededCount") or len(wanted)):
            return JobEnd(True, "SuccessPolicy", f"Matched rules at index {number}")
    if pods.completions is None:
        return _REACHED if pods.succeeded and not pods.active else None
    return _REACHED if pods.done >= pods.completions else None
