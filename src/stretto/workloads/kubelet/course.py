"""Simulated lifecycle of a bound pod."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from stretto.reconcile.cache import Fields, StoredObject
from stretto.workloads.kubelet.commands import NEVER, command_ending, ending_of, is_absent
from stretto.workloads.kubelet.environment import environment_of
from stretto.workloads.kubelet.scripts import Ending

DURATION: Final = "stretto.dev/duration"
"""Annotation of a pod: seconds that its containers run."""
EXIT_CODE: Final = "stretto.dev/exit-code"
"""Annotation of a pod: exit code of its containers."""
_SHORT: Final = Ending(1.0)
"""End of an unknown command in a pod that does not restart after success."""
_FIRST_WAIT_S: Final = 10.0
_LONGEST_WAIT_S: Final = 300.0


@dataclass(frozen=True, slots=True)
class PodCourse:
    """Simulated lifecycle of a bound pod."""

    #: Seconds until it runs.
    starts_after: float = 0.0
    #: Seconds from its start until it is ready; ``None``: never.
    ready_after: float | None = 0.0
    #: Seconds from its start until its containers end; ``None``: never.
    ends_after: float | None = None
    #: Exit code of its containers.
    exit_code: int = 0
    #: Image that cannot be pulled; empty if all images can be pulled.
    absent_image: str = ""


CourseOf = Callable[[StoredObject], PodCourse]
"""Returns the course of a pod."""


def default_course(pod: StoredObject) -> PodCourse:
    """The course of a pod, from its annotations and commands.

    Its containers run for ``stretto.dev/duration`` seconds and end with ``stretto.dev/exit-code``.
    Without these annotations, containers with known commands end as their command does. Containers
    with other commands never end if the restart policy is ``Always``, and otherwise succeed after
    one second. No pod ends within its first second, so that retries take time.
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
    """The end in the annotations; ``None`` if they are missing or unreadable."""
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
    known = ending_of(container, environment_of(pod, container))
    return known or (NEVER if runs_on else _SHORT)


def _last(endings: Iterable[Ending]) -> Ending:
    """The end of a pod: the end of its last container, with the first exit code that is not 0."""
    found = list(endings)
    code = next((each.code for each in found if each.code), 0)
    return Ending(max((each.after for each in found), default=NEVER.after), code)


def _ready_after(containers: Iterable[Fields]) -> float | None:
    """Seconds until the first readiness probes succeed; ``None`` if one always fails."""
    wait = 0.0
    for probe in (each.get("readinessProbe") or {} for each in containers):
        checked = command_ending((probe.get("exec") or {}).get("command") or ())
        if checked is not None and checked.code:
            return None
        wait = max(wait, float(probe.get("initialDelaySeconds") or 0))
    return wait


@dataclass(frozen=True, slots=True)
class PodAttempt:
    """Attempt of a pod in its course: its containers run, wait for a restart, or have ended."""

    #: Number of restarts.
    restarts: int
    #: Seconds from the first start to the start of this attempt.
    started_at: float
    #: Seconds from the first start to the end of this attempt; infinite: it never ends.
    ends_at: float
    #: Seconds from the first start to the next attempt; infinite without one.
    next_at: float

    def is_running(self, age: float) -> bool:
        """Return whether the containers run at an age of the pod."""
        return age < self.ends_at


def attempt_at(course: PodCourse, policy: str, age: float) -> PodAttempt:
    """The attempt at an age of a pod.

    As in Kubernetes, ended containers restart at once the first time, then after 10 s; the delay
    doubles with each further restart, up to 5 minutes.

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
