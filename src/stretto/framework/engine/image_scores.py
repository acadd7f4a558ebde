"""Static scores that depend on what other nodes are too: asked anew when nodes report images.

The rows are shared by the shards of a profile; each shard is told which slots have another score,
so that what it keeps of them is made again.
"""

import numpy as np

from stretto.base.arrays import distinct
from stretto.framework.contract.rule import View
from stretto.framework.plugins.image_locality import NAME
from stretto.framework.profile.profile import Profile
from stretto.state.nodes.eligibility import Eligibility
from stretto.state.nodes.table import NodeFacts
from stretto.state.rows.pods import RowLog
from stretto.state.rows.snapshot import Columns


class StaticScoreRenewals:
    """Follows the images of nodes for one engine."""

    def __init__(self, profile: Profile, nodes: NodeFacts, rows: Eligibility[View]) -> None:
        """Follow where a score of the profile asks for images."""
        names = [rule.NAME for rule, _ in profile.static_scores]
        self._rule = names.index(NAME) if NAME in names else -1
        self._images = nodes.images
        self._rows = rows
        self._seen = 0
        self._log = RowLog()

    @property
    def matter(self) -> bool:
        """Whether anybody asks for images, and any node has reported some."""
        return self._rule >= 0 and self._images.active

    def follow(self, columns: Columns, position: int) -> int:
        """Bring the rows up to date, and a snapshot's log from where it stood; where it is now."""
        if self._seen != self._images.version:
            self._seen = self._images.version
            self._log.extend(self._rows.renew_score(self._rule))
        if position == self._log.head:
            return position
        changed = self._log.since(position)
        if changed is None:
            columns.void()
        else:
            columns.append(distinct(changed).astype(np.int64))
        return self._log.head
