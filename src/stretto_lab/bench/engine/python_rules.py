"""Rules as plugin authors write them: NumPy only, so that the bench measures their cost."""

from typing import ClassVar, Final

import msgspec
import numpy as np

from stretto.framework.contract.rule import (
    BoolArray,
    FilterRule,
    IntArray,
    Rule,
    Scope,
    ScoreRule,
    SlotArray,
    View,
)
from stretto.framework.profile.guard import guard
from stretto.framework.profile.profile import Profile
from stretto.state.classes.table import PodClass
from stretto.state.rows.resources import CPU


class SpareCpu(FilterRule):
    """Keeps a twentieth of the CPU of each node free."""

    NAME: ClassVar[str] = "SpareCpu"
    SCOPE: ClassVar[Scope] = Scope.SLOT

    def filter(self, pod: PodClass, view: View, slots: SlotArray) -> BoolArray:
        """True for nodes with more than a twentieth of their CPU free."""
        columns = view.columns
        return np.asarray(columns.free[CPU, slots] * 20 > columns.alloc[CPU, slots])


class FreeCpu(ScoreRule):
    """Prefers nodes with much free CPU."""

    NAME: ClassVar[str] = "FreeCpu"
    SCOPE: ClassVar[Scope] = Scope.SLOT

    def score(self, pod: PodClass, view: View, slots: SlotArray) -> IntArray:
        """The free share of the CPU in percent."""
        share = view.columns.free[CPU, slots] * view.columns.percent[CPU, slots]
        return np.asarray(share.clip(0, 100), np.int32)


class NotBelowMean(SpareCpu):
    """Excludes nodes with less than half of the mean free CPU."""

    NAME: ClassVar[str] = "NotBelowMean"
    SCOPE: ClassVar[Scope] = Scope.DOMAIN

    def filter(self, pod: PodClass, view: View, slots: SlotArray) -> BoolArray:
        """True for nodes with at least half of the mean free CPU."""
        free = view.columns.free[CPU]
        return np.asarray(free[slots] * 2 >= free[view.columns.live > 0].mean())


_RULES: Final[dict[str, type[Rule]]] = {
    "filter": SpareCpu,
    "score": FreeCpu,
    "domain": NotBelowMean,
}


def profile_with_rule(profile: Profile, name: str) -> Profile:
    """A profile with one more Python rule, guarded like an external rule; unchanged for no name."""
    if not name:
        return profile
    rule = guard(_RULES[name]({}))
    if name == "score":
        return msgspec.structs.replace(profile, scores=(*profile.scores, (rule, 1)))
    return msgspec.structs.replace(profile, filters=(*profile.filters, rule))
