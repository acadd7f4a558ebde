"""The rules that decide about a pod, for explanations: filters and scores to evaluate.

Usually these are the profile's rules, which give all pods of a class the same verdict. Under
kube-scheduler's own rules, and for volumes, the verdict depends on the individual pod.
"""

from collections.abc import Hashable

from stretto.framework.compiled.typical import observed_typical_pods
from stretto.framework.contract.rule import View
from stretto.framework.engine.engine import CompiledProfile
from stretto.framework.parity.explain import Judges, ParityRules
from stretto.framework.plugins.volumes import VolumeRule
from stretto.framework.profile.profile import Profile
from stretto.framework.volumes.explain import volume_adapters_of
from stretto.framework.volumes.rules import VolumeRules
from stretto.state.cluster.cluster import Cluster
from stretto.state.rows.snapshot import Columns


class Judging:
    """Finds the rules that decide about each pod of one cluster."""

    def __init__(self, engine: CompiledProfile) -> None:
        """Use the rules of an engine."""
        self._engine = engine
        self._exact = ParityRules(engine.cluster) if engine.profile.exact else None
        self._volumes: VolumeRules | None = None

    def rules(self, row: int) -> Judges:
        """The filters, and the scores with their weights, that decide about a pod."""
        if self._exact is not None:
            return self._exact.of(row)
        profile = self._engine.profile
        if not self._has_volumes(row):
            return profile.every_filter, profile.every_score
        if self._volumes is None:
            rules = (rule for rule in profile.filters if isinstance(rule, VolumeRule))
            names = frozenset(rule.NAME for rule in rules)
            self._volumes = VolumeRules(self._engine.cluster, names)
        return volume_adapters_of(profile.every_filter, self._volumes, row), profile.every_score

    def verdict_key(self, row: int) -> Hashable | None:
        """Key that is equal for pods with equal verdicts.

        ``None`` if the class determines the verdict.
        """
        if self._exact is not None:
            return self._exact.verdict_key(row)
        return ("volumes", self._engine.cluster.pods.uid[row]) if self._has_volumes(row) else None

    @property
    def by_class(self) -> bool:
        """True if all pods of a class have equal verdicts, except pods with volumes."""
        return self._exact is None

    def _has_volumes(self, row: int) -> bool:
        needed = self._engine.profile.needs_volumes
        return needed and bool(self._engine.cluster.pods.volumes[row])


def compiled_for(profile: Profile, cluster: Cluster) -> CompiledProfile:
    """Compile a profile for a cluster; a learning profile is trained on the cluster's pods."""
    engine = CompiledProfile(profile, cluster)
    if profile.learns:
        engine.typical = observed_typical_pods(cluster)
    return engine


def view_of(engine: CompiledProfile, columns: Columns | None = None) -> View:
    """A view of the engine's cluster as it is now.

    Args:
        engine: the compiled rules and their cluster.
        columns: columns to synchronize and reuse; ``None`` makes new ones, which may be modified.
    """
    cluster = engine.cluster
    columns = Columns(cluster.ledger) if columns is None else columns
    columns.sync()
    return View(columns, cluster.nodes, engine.typical, engine.look())
