"""Rules in the form of a plugin author: NumPy only, so that the bench measures their cost."""

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
    """Leaves a twentieth of the CPU of each node free."""

    NAME: ClassVar[str] = "SpareCpu"
    SCOPE: ClassVar[Scope] = Scope.SLOT

    def filter(self, pod: PodClass, view: View, slots: SlotArray) -> BoolArray:
        """True where more than a twentieth of the CPU is free."""
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
        """True where at least half of the mean free CPU is free."""
        free = view.columns.free[CPU]
        return np.asarray(free[slots] * 2 >= free[view.columns.live > 0].mean())


_RULES: Final[dict[str, type[Rule]]] = {
    "filter": SpareCpu,
    "score": FreeCpu,
    "domain": NotBelowMean,
}


def profile_with_rule(profile: Profile, name: str) -> Profile:
    """A profile with one Python rule more, guarded as any rule from outside; the same for none."""
    if not name:
        return profile
    rule = guard(_RULES[name]({}))
    if name == "score":
        return msgspec.structs.replace(profile, scores=(*profile.scores, (rule, 1)))
    return msgspec.structs.replace(profile, filters=(*profile.filters, rule))
