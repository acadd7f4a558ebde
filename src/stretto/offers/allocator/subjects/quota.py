"""Quota of a role."""

import msgspec

from stretto.offers.allocator.values.scalars import Quantities


class RoleQuota(msgspec.Struct, frozen=True):
    """Guarantee and limit of a role; empty mappings mean no guarantee and no limit."""

    #: Amounts that are kept free for the role, in thousandths by resource.
    guarantees: Quantities = {}
    #: Maximum consumption, in thousandths by resource; an absent name has no limit.
    limits: Quantities = {}

    @property
    def is_default(self) -> bool:
        """True if the role has neither guarantee nor limit."""
        return not self.guarantees and not self.limits


DEFAULT_QUOTA = RoleQuota()
"""Neither guarantee nor limit."""
