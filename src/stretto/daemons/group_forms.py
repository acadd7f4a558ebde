"""Detection of the PodGroups of other schedulers.

Their labels form gangs only if the API server serves the kind: elsewhere a pod with such a label
would wait for a PodGroup that cannot exist. If a CRD is installed later, the next leader detects
it.
"""

import msgspec

from stretto.api.types.workload_groups import FORMS
from stretto.api.wire.kinds import CUSTOM_RESOURCE_DEFINITION, Kind
from stretto.base.errors import NotAllowedError
from stretto.plane.config import PlaneConfig
from stretto.stores.store import Store


def with_served_groups(config: PlaneConfig, store: Store) -> PlaneConfig:
    """A plane configuration that reads the PodGroup kinds of the store's server."""
    served = tuple(kind for kind in FORMS if _is_served(kind, store))
    return msgspec.structs.replace(config, group_forms=served)


def _is_served(kind: Kind, store: Store) -> bool:
    """Return whether the CRD of a kind exists; False without the permission to read CRDs."""
    try:
        return store.get(CUSTOM_RESOURCE_DEFINITION, "", kind.resource) is not None
    except NotAllowedError:
        return False
