"""A store that does not answer delays only its own changes."""

from collections.abc import Hashable, Iterable

import msgspec

from stretto.api.wire.kinds import CONFIG_MAP
from stretto.base.clock import ManualClock
from stretto.base.rng import Rng
from stretto.reconcile.cache import Change
from stretto.reconcile.loop import ReconcileLoop
from stretto.sim.fleet.server.availability import ServerAvailability, UnreliableStore
from stretto.stores.embedded.memory import MemoryStore


class Seen:
    """Notes the names of objects."""

    name = "seen"

    def __init__(self) -> None:
        self.names: list[str] = []

    def affected(self, change: Change) -> Iterable[Hashable]:
        self.names.append(change.object.record.name)
        return ()

    def reconcile(self, key: Hashable, now: float) -> float | None:
        return None


def test_other_stores_are_read_while_one_does_not_answer() -> None:
    clock = ManualClock(0.0)
    stores = {name: MemoryStore(clock, Rng(0).child(name)) for name in ("silent", "well")}
    served = UnreliableStore(stores["silent"])
    loop, seen = ReconcileLoop(clock), Seen()
    loop.add_store("silent", served).follow(CONFIG_MAP)
    loop.add_store("well", stores["well"]).follow(CONFIG_MAP)
    loop.add_controllers([seen])
    served.set_availability(ServerAvailability.BUSY)
    for name, store in stores.items():
        store.create(CONFIG_MAP, [msgspec.json.encode({"metadata": {"name": name}})])
    loop.step()
    assert seen.names == ["well"]
    served.set_availability(ServerAvailability.ANSWERS)
    clock.set(loop.next_due() or 0.0)
    loop.step()
    assert seen.names == ["well", "silent"]
