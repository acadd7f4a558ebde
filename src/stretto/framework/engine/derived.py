"""The filter of a profile that the kernels apply through columns of its own.

Such a filter compares derived amounts, as the fit rule compares resources: a snapshot stores the
columns, classes request amounts of them, and kernels need no further code. The score of the same
rule may read the same columns. A profile has at most one such filter.
"""

from typing import NamedTuple

from stretto.framework.compiled.tables import CompiledScore
from stretto.framework.contract.rule import DerivedRule, Rule, ScoreRule
from stretto.framework.profile.profile import Profile
from stretto.state.cluster.cluster import Cluster
from stretto.state.rows.resources import ResourceColumns


class DerivedFilter(NamedTuple):
    """A filter and its columns."""

    #: The filter.
    rule: Rule
    #: Columns of the filter.
    columns: DerivedRule


def derived_filter(profile: Profile, cluster: Cluster) -> DerivedFilter | None:
    """The first filter with derived columns; ``None`` if no filter has any."""
    for rule in profile.python_filters:
        found = rule.derived(cluster.nodes, cluster.ledger)
        if found is not None:
            return DerivedFilter(rule, found)
    return None


def compiled_form(
    rule: ScoreRule, resources: ResourceColumns, derived: DerivedFilter | None
) -> CompiledScore | None:
    """The form of a score for the kernels; ``None`` if the engine calls ``score``."""
    if rule.SCORES_DERIVED and (derived is None or derived.rule is not rule):
        return None
    return rule.compiled(resources)
