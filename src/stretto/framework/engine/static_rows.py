"""Static rows of a profile: filters and scores that depend on the node object alone.

Image scores also depend on the images of other nodes. They are recomputed when nodes report images;
each shard reads the slots with a new score and rescores them.
"""

import numpy as np

from stretto.base.arrays import distinct
from stretto.framework.contract.rule import Scope, View
from stretto.framework.contract.static_view import static_view
from stretto.framework.plugins.image_locality import NAME
from stretto.framework.profile.profile import Profile
from stretto.state.cluster.cluster import Cluster
from stretto.state.nodes.eligibility import Eligibility
from stretto.state.nodes.table import NodeFacts
from stretto.state.rows.pods import RowLog
from stretto.state.rows.snapshot import Columns

StaticRows = Eligibility[View]
"""Static rows by signature."""


def static_rows_of(profile: Profile, cluster: Cluster) -> StaticRows:
    """The static rows of a profile, which follow the nodes of the cluster."""
    columns = Columns(cluster.ledger)
    view = static_view(View(columns, cluster.nodes))
    may_read_columns = any(rule.SCOPE is Scope.STATIC for rule in profile.outside)

    def current() -> View:
        """Return the view with current capacities for the rules of users.

        Built-in ones read none.
        """
        if may_read_columns:
            columns.sync()
        return view

    rows = Eligibility(profile.static_filters, profile.static_scores, cluster.nodes, current)
    cluster.node_updates.listeners.append(rows.refresh)
    return rows


class StaticScoreRenewals:
    """Follows the images of nodes for one engine."""

    def __init__(self, profile: Profile, nodes: NodeFacts, rows: StaticRows) -> None:
        """Follow images if a score of the profile reads them."""
        names = [rule.NAME for rule, _ in profile.static_scores]
        #: True if a score reads images.
        self.exist = NAME in names
        #: The images of the nodes; no score changes before one of them has reported some.
        self.images = nodes.images
        self._rule = names.index(NAME) if self.exist else -1
        self._rows = rows
        self._seen = 0
        self._log = RowLog()

    def follow(self, columns: Columns, position: int) -> int:
        """Update the rows and the log of a snapshot; return the new position."""
        if self._seen != self.images.version:
            self._seen = self.images.version
            self._log.extend(self._rows.renew_score(self._rule))
        if position == self._log.head:
            return position
        changed = self._log.since(position)
        if changed is None:
            columns.void()
        else:
            columns.append(distinct(changed).astype(np.int64))
        return self._log.head
