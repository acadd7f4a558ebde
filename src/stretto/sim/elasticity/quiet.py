"""End of changes in a run with tidal pools."""

from collections.abc import Iterable

from stretto.api.types.capacity.tides import TideNodePool
from stretto.base.errors import InputError
from stretto.capacity.tides.pool import TidePool
from stretto.capacity.tides.rounds import OFFLINE_HOLD_S, PERIOD_S, TRIED_AGAIN_S
from stretto.reconcile.cache import StoredObject


def quiet_after(pools: Iterable[StoredObject]) -> float:
    """Seconds after which every node of the pools that has a reason to switch has switched."""
    holds = [OFFLINE_HOLD_S, TRIED_AGAIN_S]
    for each in pools:
        try:
            holds.append(TidePool(each.read(TideNodePool)).settings.hold_s)
        except InputError:  # an event of the pool reports the error
            continue
    return max(holds) + 3 * PERIOD_S
