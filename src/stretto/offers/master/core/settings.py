"""Settings of a master, in Mesos' terms."""

from collections.abc import Mapping
from typing import Final

import msgspec

from stretto.offers.master.core.acls import Acls

VERSION: Final = "1.11.0"
"""The version of Mesos that the master reports; clients adapt to it."""


class MasterSettings(msgspec.Struct, frozen=True):
    """One master."""

    #: Id: the prefix of all ids that it assigns.
    id: str
    #: Announced address.
    ip: str = "127.0.0.1"
    #: Announced port.
    port: int = 5050
    #: Announced host name.
    hostname: str = "localhost"
    #: Region; empty without a fault domain.
    region: str = ""
    #: Zone in the region.
    zone: str = ""
    #: Seconds between two batch cycles of the allocator.
    allocation_interval: float = 1.0
    #: Seconds between heartbeats on event streams.
    heartbeat_interval: float = 15.0
    #: Seconds after which an unanswered offer is rescinded; ``None`` for never.
    offer_timeout: float | None = None
    #: Lifetime of the filter after such a rescinded offer, in seconds; ``None`` for no filter, as
    #: in Mesos.
    timed_out_refuse: float | None = None
    #: Seconds within which a disconnected agent may return.
    agent_reregister_timeout: float = 600.0
    #: Seconds between two pings of an agent.
    agent_ping_timeout: float = 15.0
    #: Number of unanswered pings after which an agent is unreachable.
    max_agent_ping_timeouts: int = 5
    #: Maximum number of streams of operator events.
    max_subscribers: int = 1000
    #: Rights of principals.
    acls: Acls = Acls()
    #: Flags that GET_FLAGS reports.
    flags: Mapping[str, str] = {}

    @property
    def pid(self) -> str:
        """The address of the master for agents."""
        return f"master@{self.ip}:{self.port}"
