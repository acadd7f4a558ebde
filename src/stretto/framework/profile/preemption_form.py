"""The ``preemption`` settings of a profile, read strictly.

    stretto:
      preemption:
        enabled: true
        budgets: best-effort         # hard
        optIn: false                 # true: only pods annotated can-be-preempted
        acrossQueues: guarantee      # priority: guarantees protect no pod from preemption
        protect: {fromPriority: 1000000, startedWithinSeconds: 60, otherSchedulers: true}
        waitSeconds: 120
        select: best                 # better, random
        candidates: 100

Pods of other schedulers are not evicted unless the profile allows it; under kube-parity
(``rules: exact``) they may be evicted like any other, as kube-scheduler does.

``preemption: false`` is the same as ``{enabled: false}``.
"""

from typing import Any, Final

from stretto.base.errors import InputError
from stretto.framework.contract import arguments as read
from stretto.state.victims.rules import OFF, UNPROTECTED, CandidateSelection, PreemptionRules

LONGEST: Final = 86_400.0
"""Longest wait and longest protection in seconds: a day."""
MOST_CANDIDATES: Final = 1_000_000
_KEYS: Final = (
    "enabled",
    "budgets",
    "optIn",
    "acrossQueues",
    "protect",
    "waitSeconds",
    "select",
    "candidates",
)
_PROTECTED: Final = ("fromPriority", "startedWithinSeconds", "otherSchedulers")
_BUDGETS: Final = ("best-effort", "hard")
_ACROSS: Final = ("guarantee", "priority")


def read_preemption(value: Any, where: str, *, exact: bool = False) -> PreemptionRules:
    """Read the preemption rules of a profile; kube-scheduler's by default.

    Args:
        value: the settings.
        where: the path of the settings.
        exact: true if the profile is kube-parity.

    Raises:
        InputError: a value has the wrong form; the message contains its path.
        UnknownNameError: a key or word is unknown; the message contains the nearest one.
    """
    if value is False:
        return OFF
    if value is True:
        return PreemptionRules(spares_others=not exact)
    form = read.mapping(value, _KEYS, where)
    place = f"{where}.protect"
    protect = read.mapping(form.get("protect"), _PROTECTED, place)
    first = read.whole(
        protect.get("fromPriority", UNPROTECTED), -UNPROTECTED, UNPROTECTED, f"{place}.fromPriority"
    )
    recent = protect.get("startedWithinSeconds", 0)
    return PreemptionRules(
        enabled=_flag(form.get("enabled", True), f"{where}.enabled"),
        hard_budgets=read.one_of(form.get("budgets", "best-effort"), _BUDGETS, f"{where}.budgets")
        == "hard",
        opt_in=_flag(form.get("optIn", False), f"{where}.optIn"),
        guarantees_first=read.one_of(
            form.get("acrossQueues", "guarantee"), _ACROSS, f"{where}.acrossQueues"
        )
        == "guarantee",
        spares_others=_flag(protect.get("otherSchedulers", not exact), f"{place}.otherSchedulers"),
        protected_from=first,
        protected_for=read.number(recent, 0, LONGEST, f"{place}.startedWithinSeconds"),
        wait_timeout=read.number(
            form.get("waitSeconds", 120), 1e-3, LONGEST, f"{where}.waitSeconds"
        ),
        select=CandidateSelection(
            read.one_of(
                form.get("select", "best"), [s.value for s in CandidateSelection], f"{where}.select"
            )
        ),
        candidates=read.whole(
            form.get("candidates", 100), 1, MOST_CANDIDATES, f"{where}.candidates"
        ),
    )


def _flag(value: Any, where: str) -> bool:
    if not isinstance(value, bool):
        raise InputError(where, value, "true or false")
    return value
