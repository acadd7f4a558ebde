"""The ``reschedule`` and ``evictOverCommitted`` settings of a profile, strictly read.

    stretto:
      reschedule: {everySeconds: 600, goal: gpus, moves: 10, dryRun: false}
      evictOverCommitted: {afterSeconds: 15}

Without ``reschedule``, or with ``false``, no pod is moved to free capacity. With
``evictOverCommitted: false`` no pod is evicted from an over-committed node.
"""

from math import inf
from typing import Any, Final

from stretto.base.errors import InputError
from stretto.framework.contract import arguments as read
from stretto.state.work.rescheduling import ReschedulingGoal, ReschedulingRules

LONGEST: Final = 7 * 86_400.0
"""Longest rescheduling interval in seconds: a week."""
MOST: Final = 10_000
"""Maximum number of moves per interval."""
_KEYS: Final = ("everySeconds", "goal", "moves", "dryRun")


def read_rescheduling(value: Any, where: str) -> ReschedulingRules | None:
    """Read the rules of rescheduling; ``None`` for no rescheduling.

    Raises:
        InputError: a value has the wrong form; the message contains its path.
        UnknownNameError: a key or word is unknown; the message contains the nearest one.
    """
    if value is None or value is False:
        return None
    form = read.mapping(value, _KEYS, where)
    if "everySeconds" not in form:
        raise InputError(where, value, "everySeconds: the interval", "write everySeconds: 600")
    dry_run = form.get("dryRun", False)
    if not isinstance(dry_run, bool):
        raise InputError(f"{where}.dryRun", dry_run, "true or false")
    return ReschedulingRules(
        every=read.number(form["everySeconds"], 1.0, LONGEST, f"{where}.everySeconds"),
        goal=ReschedulingGoal(
            read.one_of(
                form.get("goal", "gpus"), [g.value for g in ReschedulingGoal], f"{where}.goal"
            )
        ),
        moves=read.whole(form.get("moves", 10), 1, MOST, f"{where}.moves"),
        dry_run=dry_run,
    )


def read_overcommit_eviction(value: Any, where: str) -> float | None:
    """Read the seconds for which a node may stay over-committed.

    The result is infinity for no limit and ``None`` if the setting is missing.

    Raises:
        InputError: a value has the wrong form; the message contains its path.
        UnknownNameError: a key is unknown; the message contains the nearest one.
    """
    if value is None:
        return None
    if value is False:
        return inf
    form = read.mapping(value, ("afterSeconds",), where)
    if "afterSeconds" not in form:
        raise InputError(where, value, "afterSeconds: the delay", "write afterSeconds: 15")
    return read.number(form["afterSeconds"], 1.0, LONGEST, f"{where}.afterSeconds")
