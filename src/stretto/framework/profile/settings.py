"""Stretto's own settings of a profile (``stretto:``), strictly read into fields of ``Profile``."""

from collections.abc import Mapping
from enum import Enum
from typing import Any, Final

from stretto.base.errors import InputError
from stretto.framework.compiled.tables import DevicePick
from stretto.framework.compiled.ties import TieRule
from stretto.framework.contract import arguments as read
from stretto.framework.profile.capacity.rules import read_capacity
from stretto.framework.profile.host_rules import read_hosts
from stretto.framework.profile.kube_config import ProfileForm
from stretto.framework.profile.preemption_form import read_preemption
from stretto.framework.profile.rescheduling_form import read_overcommit_eviction, read_rescheduling
from stretto.state.work.claims import CommitMode, ConflictMode

ALL_MEMBERS: Final = "all"
"""Value of ``minMember`` for "all existing pods must fit together"."""
MAX_DELAY: Final = 86_400.0
"""Longest delay between retries, in seconds: a day."""
MAX_MEMBERS: Final = 1_000_000
"""Largest gang: the maximum number of pods of a cluster."""

DEVICE_PICKS: Final[Mapping[str, DevicePick]] = {
    "fullest": DevicePick.FULLEST,
    "scored": DevicePick.SCORED,
    "random": DevicePick.RANDOM,
}
"""Methods of picking devices, by their name in a profile."""

_OWN_KEYS: Final = (
    "tieRule",
    "devicePick",
    "gang",
    "backoff",
    "retry",
    "conflicts",
    "commit",
    "hosts",
    "preemption",
    "reschedule",
    "evictOverCommitted",
    "overcommit",
    "reclaim",
    "rebalance",
    "schedulerNames",
    "rules",
    "nodesToScore",
    "dispatch",
)


class RuleSet(Enum):
    """The engine that places pods."""

    #: The profile's own filters and scores, by class.
    FAST = "fast"
    #: kube-parity: exactly kube-scheduler's default profile, pod by pod.
    EXACT = "exact"


def read_settings(form: ProfileForm) -> dict[str, Any]:
    """Read Stretto's own settings as fields of ``Profile``."""
    where = form.where
    own = read.mapping(form.own, _OWN_KEYS, where)
    names = read.sequence(own.get("schedulerNames"), f"{where}.schedulerNames")
    others = [read.text(n, f"{where}.schedulerNames[{i}]") for i, n in enumerate(names)]
    delays = read.mapping(own.get("backoff"), ("initialSeconds", "maxSeconds"), f"{where}.backoff")
    delays = {"initialSeconds": 1.0, "maxSeconds": 10.0, **form.backoff, **delays}
    longest = read.number(delays["maxSeconds"], 1e-3, MAX_DELAY, f"{where}.backoff.maxSeconds")
    first = read.number(delays["initialSeconds"], 1e-3, longest, f"{where}.backoff.initialSeconds")
    retry = own.get("retry", True)
    if not isinstance(retry, bool):
        raise InputError(f"{where}.retry", retry, "true or false")

    def choice(key: str, default: str, choices: list[str]) -> str:
        return read.one_of(own.get(key, default), choices, f"{where}.{key}")

    picked = choice("devicePick", "fullest", list(DEVICE_PICKS))
    quota = own.get("nodesToScore")
    if quota is not None:
        quota = read.whole(quota, 1, MAX_MEMBERS, f"{where}.nodesToScore")
    percentage = form.percentage
    if percentage is not None:
        percentage = read.whole(percentage, 0, 100, form.percentage_at)
    rules = RuleSet(choice("rules", "fast", [r.value for r in RuleSet]))
    is_exact = rules is RuleSet.EXACT
    return {
        "percentage": percentage,
        "quota": quota,
        "scheduler_names": tuple(dict.fromkeys((form.scheduler_name, *others))),
        "ties": TieRule(choice("tieRule", "rotate", [each.value for each in TieRule])),
        "device_pick": DEVICE_PICKS[picked],
        "min_members": _min_members(own.get("gang"), f"{where}.gang"),
        "first_delay": first,
        "longest_delay": longest,
        "retry": retry,
        "dispatch": read.text(own.get("dispatch", "least-loaded"), f"{where}.dispatch"),
        "conflicts": ConflictMode(choice("conflicts", "fit", [m.value for m in ConflictMode])),
        "preemption": read_preemption(own.get("preemption"), f"{where}.preemption", exact=is_exact),
        "rescheduling": read_rescheduling(own.get("reschedule"), f"{where}.reschedule"),
        "evict_over_committed_after": read_overcommit_eviction(
            own.get("evictOverCommitted"), f"{where}.evictOverCommitted"
        ),
        "capacity": read_capacity(own, where),
        "hosts": read_hosts(own.get("hosts"), f"{where}.hosts"),
        "commit": CommitMode(choice("commit", "incremental", [m.value for m in CommitMode])),
        "exact": is_exact,
    }


def _min_members(value: Any, where: str) -> Mapping[str, int | str]:
    """Read ``minMember``: a number of pods or ``all``, by the kind of an owner."""
    gang = read.mapping(value, ("minMember",), where)
    table = gang.get("minMember") or {}
    found: dict[str, int | str] = {}
    for kind, count in read.mapping(table, table, f"{where}.minMember").items():
        place = f"{where}.minMember.{kind}"
        if count != ALL_MEMBERS and isinstance(count, str):
            raise InputError(place, count, f"a number of pods from 1 on, or {ALL_MEMBERS!r}")
        found[kind] = count if count == ALL_MEMBERS else read.whole(count, 1, MAX_MEMBERS, place)
    return found
