"""A guard around an external rule: its errors name the rule, and never stop the scheduler.

Every caller uses the guard instead of the rule: the runtime, the static rows, diagnosis and
explanations. While the rule runs, every array that it can access is read-only. Its results are
checked: shape, dtype, NaN, bounds. A failing filter refuses the evaluated slots, and a failing
score gives 0. Faults and time are counted under the rule's name.
"""

import traceback
from collections.abc import Callable, Hashable, Iterator
from pathlib import Path
from typing import Any, Final, TypeVar, cast

import numpy as np
import numpy.typing as npt

from stretto.base.clock import Clock
from stretto.framework.contract.rule import (
    TOP_SCORE,
    BoolArray,
    Fail,
    FilterRule,
    IntArray,
    Refusal,
    Restrict,
    Rule,
    Scope,
    ScoreRule,
    SlotArray,
    View,
)
from stretto.framework.contract.static_view import ClaimedColumnError, static_view, whole_view
from stretto.framework.profile.health import RuleHealth
from stretto.state.classes.table import PodClass
from stretto.state.work.units import Cure

T = TypeVar("T")
_READ_ONLY: Final = "read-only"


class GuardedRule(FilterRule, ScoreRule):
    """One external rule with its guard; created by ``guard``."""

    def __init__(self, rule: Rule) -> None:
        """Guard a constructed rule."""
        super().__init__(rule.args)
        #: Health of the rule.
        self.health = RuleHealth(rule.NAME)
        #: Clock that measures its time; ``None`` measures nothing.
        self._clock: Clock | None = None
        self._rule = rule
        self._held: View | None = None

    def hold(self, view: View | None) -> None:
        """Declare that the caller keeps the arrays behind this view read-only.

        ``None`` ends this.
        """
        self._held = view

    def use_clock(self, clock: Clock) -> None:
        """Measure the time of the rule's calls with this clock from now on."""
        self._clock = clock

    # ------------------------------------------------------------ answers of a rule

    def signature(self, pod: PodClass) -> Hashable | None:
        """The rule's own signature; the class id if it fails."""
        try:
            found = self._rule.signature(pod)
            hash(found)
        except (Exception, SystemExit) as error:  # noqa: BLE001  (others' code must not stop us)
            self.health.fault(f"raised {_error_text(error)}{_place(error)} in signature")
            return pod.id
        return found

    def cures(self, pod: PodClass) -> Cure:
        """The rule's own cures; all cures if it fails."""
        try:
            return Cure(self._rule.cures(pod))
        except (Exception, SystemExit) as error:  # noqa: BLE001
            self.health.fault(f"raised {_error_text(error)}{_place(error)} in cures")
            return Cure.ANY

    def prepare(self, pod: PodClass, view: View) -> Restrict | Fail | None:
        """The rule's own restriction; no restriction if it fails."""
        found: object = self._call(self._rule.prepare, pod, view)
        if found is None or isinstance(found, Restrict | Fail):
            return found
        self.health.fault(f"answered {type(found).__name__} in prepare, expected Restrict or Fail")
        return None

    def filter(self, pod: PodClass, view: View, slots: SlotArray) -> BoolArray:
        """The rule's own result; no slot if it fails."""
        rule = cast(FilterRule, self._rule)
        answer = self._call(rule.filter, pod, view, slots)
        found = self._array(answer, slots, "b") if answer is not None else None
        return np.zeros(len(slots), np.bool_) if found is None else found.copy()

    def refusals(self, pod: PodClass, view: View, slots: SlotArray) -> list[Refusal]:
        """The rule's own refusals if they agree with its filter.

        Otherwise one that names the rule.
        """
        faults = self.health.faults
        refused = ~self.filter(pod, view, slots)
        if not refused.any():
            return []
        if self.health.faults > faults:
            reason = f"node(s) rejected by rule {self.NAME}, which {self.health.last_fault}"
            return [Refusal(reason, refused, resolvable=False)]
        rule = cast(FilterRule, self._rule)
        said = self._call(rule.refusals, pod, view, slots)
        if said and _covers(said, refused):
            return list(said)
        if said is not None:
            self.health.fault("returned refusals for nodes that its filter accepts")
        return [Refusal(f"node(s) rejected by rule {self.NAME}", refused)]

    def score(self, pod: PodClass, view: View, slots: SlotArray) -> IntArray:
        """The rule's own scores in 0..100; 0 if it fails."""
        rule = cast(ScoreRule, self._rule)
        answer = self._call(rule.score, pod, view, slots)
        found = self._array(answer, slots, "iuf") if answer is not None else None
        if found is None:
            return np.zeros(len(slots), np.int32)
        if len(found) and np.minimum.reduce(found) >= 0 and np.maximum.reduce(found) <= TOP_SCORE:
            return found.astype(np.int32)  # no NaN either: it fails every comparison
        bad = int((~np.isfinite(found)).sum())
        if bad:
            self.health.fault(f"answered NaN or infinity for {bad} of {len(found)} slots")
            found = np.where(np.isfinite(found), found, 0)
        if len(found) and (found.min() < 0 or found.max() > TOP_SCORE):
            low, high = found.min(), found.max()
            self.health.fault(f"scored from {low:g} to {high:g}, expected 0 to {TOP_SCORE}")
        return found.clip(0, TOP_SCORE).astype(np.int32)

    # ------------------------------------------------------------ the guard

    def _seen(self, view: View) -> View:
        """Return the view for the rule; a static rule gets no data that claims change."""
        return static_view(view) if self.SCOPE is Scope.STATIC else view

    def _call(
        self, call: Callable[..., T], pod: PodClass, view: View, *slots: SlotArray
    ) -> T | None:
        """Call the rule with all arrays read-only and measure the time; ``None`` if it raised.

        Arrays behind a view that the caller keeps read-only are not locked again.
        """
        before = self._clock.monotonic() if self._clock is not None else 0.0
        seen, whole = self._seen(view), whole_view(view)
        locked = lock_arrays(None if whole is self._held else whole, *slots)
        try:
            with np.errstate(all="ignore"):
                return call(pod, seen, *slots)
        except ClaimedColumnError as error:
            self.health.fault(str(error))
            return None
        except (Exception, SystemExit) as error:  # noqa: BLE001
            wrote = isinstance(error, ValueError) and _READ_ONLY in str(error)
            what = (
                "wrote to what it may only read"
                if wrote
                else f"raised {_error_text(error)}{_place(error)}"
            )
            self.health.fault(what)
            return None
        finally:
            unlock_arrays(locked)
            after = self._clock.monotonic() if self._clock is not None else 0.0
            self.health.took(after - before, sum(map(len, slots)))

    def _array(self, answer: Any, slots: SlotArray, kinds: str) -> npt.NDArray[Any] | None:
        """Convert a result to an array of one value per slot; ``None`` if it is invalid.

        ``kinds`` are the permitted kinds of dtypes. The array may be the rule's own: copy it.
        """
        try:
            found = np.asarray(answer)
        except Exception as error:  # noqa: BLE001  (ragged lists and the like)
            self.health.fault(f"returned no array: {_error_text(error)}")
            return None
        if found.shape != slots.shape or found.dtype.kind not in kinds:
            name = "bool" if kinds == "b" else "int32"
            given = f"{found.dtype}{list(found.shape)}"
            self.health.fault(f"answered {given}, expected {name}[{len(slots)}]")
            return None
        return found


def guard(rule: Rule) -> GuardedRule:
    """Return a rule with a guard around it, under its own name."""
    name = f"Guarded{type(rule).__name__}"
    return cast(GuardedRule, type(name, (GuardedRule,), {}, declares=type(rule))(rule))


def _error_text(error: BaseException) -> str:
    text = str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _place(error: BaseException) -> str:
    """File and line of the rule that raised, as ``rules.py:7``; empty if unknown."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [each for each in frames if Path(each.filename) != Path(__file__)]
    if not own:
        return ""
    return f" ({Path(own[0].filename).name}:{own[0].lineno})"


def _covers(said: Any, refused: BoolArray) -> bool:
    """Return whether refusals are well-formed and cover the slots that the filter refuses."""
    if not isinstance(said, list | tuple):
        return False
    union = np.zeros(len(refused), np.bool_)
    for each in said:
        mask = each.mask if isinstance(each, Refusal) else None
        if not isinstance(mask, np.ndarray) or not isinstance(each.reason, str):
            return False
        if mask.dtype != np.bool_ or mask.shape != refused.shape:
            return False
        union |= mask
    return bool((union == refused).all())


def lock_arrays(view: View | None, *more: npt.NDArray[Any]) -> list[npt.NDArray[Any]]:
    """Make the arrays behind a view, and more arrays, read-only.

    Returns those that were writable.
    """
    locked: list[npt.NDArray[Any]] = []
    for array in (*more, *_arrays(view)) if view is not None else more:
        if array.flags.writeable:
            array.flags.writeable = False
            locked.append(array)
    return locked


def unlock_arrays(locked: list[npt.NDArray[Any]]) -> None:
    """Revert ``lock_arrays``."""
    for array in locked:
        array.flags.writeable = True


def _arrays(view: View) -> Iterator[npt.NDArray[Any]]:
    """The arrays behind a view: the snapshot, the ledger, nodes and their labels."""
    ledger, nodes = view.columns.ledger, view.nodes
    for owner in (view.columns, ledger, ledger.devices, ledger.ports, ledger.slots, nodes):
        yield from (value for value in vars(owner).values() if isinstance(value, np.ndarray))
    yield from nodes.labels.columns
