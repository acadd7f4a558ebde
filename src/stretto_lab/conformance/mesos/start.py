"""The master of a replay: the settings of the recorded master, and its ids."""

import re
from typing import Any, Final, NamedTuple

import msgspec

from stretto.base.clock import Clock
from stretto.base.rng import Rng
from stretto.offers.allocator.build import make_allocator
from stretto.offers.allocator.subjects.settings import MESOS
from stretto.offers.master.core.flags import master_flags
from stretto.offers.master.core.settings import MasterSettings
from stretto.offers.master.master import Master
from stretto_lab.conformance.mesos import agents
from stretto_lab.conformance.mesos.order import VisitOrder
from stretto_lab.conformance.mesos.sessions import WireSession

TIME: Final = 1_795_258_985.0
"""Time of the first record, in seconds since the epoch."""
_FLAGS: Final = {
    "agent_ping_timeout": "10mins",
    "max_agent_ping_timeouts": "100000",
    "registry": "in_memory",
    "webui_dir": "/usr/share/mesos/webui",
}


class MasterIdentity(NamedTuple):
    """Ids and ports of a recorded master."""

    #: Id of the master.
    master_id: str = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"
    #: Its port.
    port: int = 5050
    #: Port of the agents.
    agent_port: int = agents.PORT
    #: True if the session contains them instead of placeholders.
    is_named: bool = False


def recorded_master(identity: MasterIdentity, order: VisitOrder, clock: Clock) -> Master:
    """A master with the settings of the recorded one."""
    settings = MasterSettings(
        id=identity.master_id,
        port=identity.port,
        region="r1",
        zone="z1",
        agent_ping_timeout=600.0,
        flags=master_flags(_FLAGS, "r1", "z1"),
    )
    allocation = msgspec.structs.replace(MESOS, region="r1")
    return Master(settings, make_allocator(Rng(1), allocation, order), clock, Rng(1))


def identity(session: WireSession) -> MasterIdentity:
    """The ids in the events of a session, or else defaults."""
    for record in session.records:
        for events in record.events.values():
            for event in events if isinstance(events, list) else ():
                info = _master_info(event)
                if info is not None:
                    return MasterIdentity(info["id"], info["port"], _port(session), True)
    return MasterIdentity()


def _master_info(event: Any) -> Any:
    return event.get("json", {}).get("subscribed", {}).get("master_info")


def _port(session: WireSession) -> int:
    text = msgspec.json.encode(session).decode()
    found = re.search(r'"hostname":"agent0.example","ip":"127.0.0.1","port":(\d+)', text)
    return int(found.group(1)) if found else agents.PORT
