"""Which PodGroups of other schedulers a cluster has.

Their labels form gangs only where the API server serves the kind: elsewhere a pod with such a label
would wait for a PodGroup that cannot exist. A CRD that is installed later is found by the next
leader.
"""

import msgspec

from stretto.api.types.workload_groups import FORMS
from stretto.api.wire.kinds import CUSTOM_RESOURCE_DEFINITION, Kind
from stretto.base.errors import NotAllowedError
from stretto.plane.config import PlaneConfig
from stretto.stores.store import Store


def with_served_groups(config: PlaneConfig, store: Store) -> PlaneConfig:
    """A configuration of a plane that reads the PodGroups which the store's server has."""
    served = tuple(kind for kind in FORMS if _is_served(kind, store))
    return msgspec.structs.replace(config, group_forms=served)


def _is_served(kind: Kind, store: Store) -> bool:
    """Return whether the CRD of a kind exists; not without the permission to read CRDs."""
    try:
        return store.get(CUSTOM_RESOURCE_DEFINITION, "", kind.resource) is not None
    except NotAllowedError:
        return False
