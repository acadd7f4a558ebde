"""Creation of the objects of a new server, with one write per kind if the store is empty."""

from collections.abc import Mapping, Sequence
from functools import lru_cache

from stretto.api.wire.kinds import NAMESPACE, Kind
from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.stores.embedded.memory import MemoryStore
from stretto.web.api.bootstrap.missing import make_missing
from stretto.web.api.flows.classification import FlowClassifier
from stretto.web.api.resources import kubernetes_table
from stretto.web.api.state import ApiState
from stretto.web.api.storage import ObjectStorage


def make_objects(state: ApiState, authentication: Mapping[str, str]) -> None:
    """Create the missing namespaces, priority classes, flow schemas, roles and settings."""
    storage = state.storage
    if not storage.listing(NAMESPACE).records:
        fixed = tuple(authentication.items())
        new = _new_objects(int(state.clock.now()), fixed, aggregates=state.aggregates_roles)
        if all(storage.create_all(kind, bodies) for kind, bodies in new):
            return
    make_missing(state, authentication)


@lru_cache(maxsize=4)
def _new_objects(
    second: int, authentication: tuple[tuple[str, str], ...], *, aggregates: bool
) -> Sequence[tuple[Kind, Sequence[bytes]]]:
    """Return the objects of a server without objects, as JSON by kind.

    Written one by one, each object would cost a transaction, and some of them a second one for
    their conditions.

    Args:
        second: the time.
        authentication: how other servers authenticate clients.
        aggregates: true to compute the rules of aggregated roles.
    """
    clock = ManualClock(float(second))
    storage, resources = ObjectStorage(MemoryStore(clock, Rng(0))), kubernetes_table()
    flows = FlowClassifier(storage)
    state = ApiState(storage, resources, flows, clock, Rng(0), aggregates_roles=aggregates)
    make_missing(state, dict(authentication))
    kinds = dict.fromkeys(each.stored for each in resources.built_in())
    found = ((kind, storage.listing(kind).records) for kind in kinds)
    return [(kind, [each.body for each in records]) for kind, records in found if records]
