"""Who judges a pod: the filters and scores to ask when somebody wants to know why.

Mostly the profile's rules, which say the same of every pod of a class. Where kube-scheduler's own
rules decide, and of a pod's volumes, the truth is what was said of that very pod.
"""

from collections.abc import Hashable

from stretto.framework.engine.engine import CompiledProfile
from stretto.framework.parity.explain import Judges, ParityRules
from stretto.framework.plugins.volumes import VolumeRule
from stretto.framework.volumes.explain import volume_adapters_of
from stretto.framework.volumes.rules import VolumeRules


class Judging:
    """Finds the rules that judge each pod of one cluster."""

    def __init__(self, engine: CompiledProfile) -> None:
        """Judge by the rules of an engine."""
        self._engine = engine
        self._exact = ParityRules(engine.cluster) if engine.profile.exact else None
        self._volumes: VolumeRules | None = None

    def rules(self, row: int) -> Judges:
        """The filters, and the scores with their weights, that judge a pod."""
        if self._exact is not None:
            return self._exact.of(row)
        profile = self._engine.profile
        if not self._has_volumes(row):
            return profile.every_filter, profile.every_score
        if self._volumes is None:
            asked = (rule for rule in profile.filters if isinstance(rule, VolumeRule))
            names = frozenset(rule.NAME for rule in asked)
            self._volumes = VolumeRules(self._engine.cluster, names)
        return volume_adapters_of(profile.every_filter, self._volumes, row), profile.every_score

    def likeness(self, row: int) -> Hashable | None:
        """Equal for pods of which the same is said; ``None`` where the class tells it."""
        if self._exact is not None:
            return self._exact.likeness(row)
        return ("volumes", self._engine.cluster.pods.uid[row]) if self._has_volumes(row) else None

    @property
    def by_class(self) -> bool:
        """Whether pods of one class are told the same, those with volumes aside."""
        return self._exact is None

    def _has_volumes(self, row: int) -> bool:
        asks = self._engine.profile.needs_volumes
        return asks and bool(self._engine.cluster.pods.volumes[row])
