"""What becomes of a pod once it is bound."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from stretto.reconcile.cache import Fields, StoredObject
from stretto.workloads.kubelet.commands import NEVER, Ending, command_ending, ending_of, is_absent

DURATION: Final = "stretto.dev/duration"
"""Annotation of a pod: seconds for which its containers run."""
EXIT_CODE: Final = "stretto.dev/exit-code"
"""Annotation of a pod: the code with which its containers end."""
_SHORT: Final = Ending(1.0)
"""The end of a command that is not known, in a pod that is not restarted after it succeeds."""
_FIRST_WAIT_S: Final = 10.0
_LONGEST_WAIT_S: Final = 300.0


@dataclass(frozen=True, slots=True)
class PodCourse:
    """What becomes of a pod once it is bound."""

    #: Seconds until it runs.
    starts_after: float = 0.0
    #: Seconds after its start until it is ready; ``None`` for never.
    ready_after: float | None = 0.0
    #: Seconds after its start until its containers end; ``None`` for never.
    ends_after: float | None = None
    #: The code with which they end.
    exit_code: int = 0
    #: Image that cannot be pulled; empty if all can.
    absent_image: str = ""


CourseOf = Callable[[StoredObject], PodCourse]
"""The course of a pod."""


def default_course(pod: StoredObject) -> PodCourse:
    """The course that a pod states.

    Its containers run for ``stretto.dev/duration`` seconds and end with ``stretto.dev/exit-code``.
    Without these annotations, containers of known commands end as these do. Containers of other
    commands never end in pods with the restart policy ``Always``, and succeed after a second
    elsewhere. No pod ends within its first second, so that retries take time.
    """
    containers: list[Fields] = pod.spec.get("containers") or []
    images = [str(each.get("image", "")) for each in containers]
    ending = _stated(pod) or _last(_or_default(pod, each) for each in containers)
    return PodCourse(
        ready_after=_ready_after(containers),
        ends_after=None if math.isinf(ending.after) else max(_SHORT.after, ending.after),
        exit_code=ending.code,
        absent_image=next(filter(is_absent, images), ""),
    )


def _stated(pod: StoredObject) -> Ending | None:
    """The end that annotations state; ``None`` without any or if they are unreadable."""
    duration, code = pod.annotations.get(DURATION), pod.annotations.get(EXIT_CODE)
    if duration is None and code is None:
        return None
    try:
        after = _SHORT.after if duration is None else max(0.0, float(duration))
        return Ending(after, int(code or 0) & 255)
    except ValueError:
        return None


def _or_default(pod: StoredObject, container: Fields) -> Ending:
    runs_on = pod.spec.get("restartPolicy", "Always") == "Always"
    return ending_of(container) or (NEVER if runs_on else _SHORT)


def _last(endings: Iterable[Ending]) -> Ending:
    """The end of a pod: that of its last container, with the first code that is not 0."""
    found = list(endings)
    code = next((each.code for each in found if each.code), 0)
    return Ending(max((each.after for each in found), default=NEVER.after), code)


def _ready_after(containers: Iterable[Fields]) -> float | None:
    """Seconds until the first probes of readiness succeed; ``None`` if one always fails."""
    wait = 0.0
    for probe in (each.get("readinessProbe") or {} for each in containers):
        checked = command_ending((probe.get("exec") or {}).get("command") or ())
        if checked is not None and checked.code:
            return None
        wait = max(wait, float(probe.get("initialDelaySeconds") or 0))
    return wait


@dataclass(frozen=True, slots=True)
class PodAttempt:
    """Where a pod is in its course: its containers run, wait for a restart, or have ended."""

    #: Restarts so far.
    restarts: int
    #: Seconds from the first start to the start of this attempt.
    started_at: float
    #: Seconds from the first start to the end of this attempt; infinite for never.
    ends_at: float
    #: Seconds from the first start to the next attempt; infinite without one.
    next_at: float

    def is_running(self, age: float) -> bool:
        """Return whether the containers run at an age of the pod."""
        return age < self.ends_at


def attempt_at(course: PodCourse, policy: str, age: float) -> PodAttempt:
    """The attempt at an age of a pod.

    As in Kubernetes, ended containers restart at once the first time, then after 10 s, and after
    twice as long each further time, up to 5 minutes.

    Args:
        course: the course of the pod.
        policy: its ``restartPolicy``.
        age: seconds since its first start.
    """
    never = math.inf
    if course.ends_after is None:
        return PodAttempt(0, 0.0, never, never)
    restarts = policy == "Always" or (policy == "OnFailure" and course.exit_code != 0)
    number, start, wait = 0, 0.0, 0.0
    while True:
        end = start + course.ends_after
        following = end + wait if restarts else never
        if age < following:
            return PodAttempt(number, start, end, following)
        number, start = number + 1, following
        wait = min(_LONGEST_WAIT_S, max(_FIRST_WAIT_S, wait * 2))
