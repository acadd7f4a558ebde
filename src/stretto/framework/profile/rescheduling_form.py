"""What a profile says of moving pods, read strictly.

    stretto:
      reschedule: {everySeconds: 600, goal: gpus, moves: 10, dryRun: false}
      relieve: {afterSeconds: 15}

``reschedule`` left out, or ``false``: nobody is moved so that room comes free. ``relieve: false``:
nobody is asked to leave a node that gives more than it has.
"""

from math import inf
from typing import Any, Final

from stretto.base.errors import InputError
from stretto.framework.contract import arguments as read
from stretto.state.work.rescheduling import ReschedulingGoal, ReschedulingRules

LONGEST: Final = 7 * 86_400.0
"""Longest time between two looks in seconds: a week."""
MOST: Final = 10_000
"""Most moves that one look may begin."""
_KEYS: Final = ("everySeconds", "goal", "moves", "dryRun")


def read_rescheduling(value: Any, where: str) -> ReschedulingRules | None:
    """How a plane moves pods by itself; ``None`` where it does not.

    Raises:
        InputError: something has the wrong form; the path says where.
        UnknownNameError: a key or word is not known; the nearest is named.
    """
    if value is None or value is False:
        return None
    form = read.mapping(value, _KEYS, where)
    if "everySeconds" not in form:
        raise InputError(where, value, "everySeconds: how often to look", "write everySeconds: 600")
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


def read_relief(value: Any, where: str) -> float | None:
    """Seconds for which a node may give more than it has; infinity for ever, ``None`` if not said.

    Raises:
        InputError: something has the wrong form; the path says where.
        UnknownNameError: a key is not known; the nearest is named.
    """
    if value is None:
        return None
    if value is False:
        return inf
    form = read.mapping(value, ("afterSeconds",), where)
    if "afterSeconds" not in form:
        raise InputError(where, value, "afterSeconds: how long to wait", "write afterSeconds: 15")
    return read.number(form["afterSeconds"], 1.0, LONGEST, f"{where}.afterSeconds")
