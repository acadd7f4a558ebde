"""Settings of an agent that runs tasks."""

import ssl
from pathlib import Path
from typing import Final

import msgspec

from stretto.agent.tasks.containers.cgroups import Cgroups
from stretto.agent.tasks.containers.fetcher import Fetcher
from stretto.agent.tasks.executors.environment import AgentAddress, ExecutorTimes
from stretto.offers.master.server.limits import RequestLimits
from stretto.offers.messages.schema import Message

CAPABILITIES: Final = (
    "MULTI_ROLE",
    "HIERARCHICAL_ROLE",
    "RESERVATION_REFINEMENT",
    "RESIZE_VOLUME",
    "AGENT_DRAINING",
)
"""The capabilities that the agent reports to the master."""


class TaskAgentSettings(msgspec.Struct, frozen=True):
    """One agent."""

    #: Host of the master.
    master_host: str
    #: Port of the master.
    master_port: int
    #: Directory of sandboxes and of the agent's own state.
    work_dir: Path
    #: Host name that offers show.
    hostname: str
    #: Address that the agent announces, and on which it serves executors.
    ip: str = "127.0.0.1"
    #: Port of that address: agents of one machine need different ones.
    port: int = 5051
    #: Resource messages of everything that it offers.
    resources: tuple[Message, ...] = ()
    #: Attribute messages.
    attributes: tuple[Message, ...] = ()
    #: Value of the ``Authorization`` header for the master; empty without authentication.
    authorization: str = ""
    #: How the master's certificate is verified; None for plain HTTP.
    trust: ssl.SSLContext | None = None
    #: Fetches the URIs of tasks and executors.
    fetcher: Fetcher = Fetcher()
    #: Limits of tasks; None for no limits.
    cgroups: Cgroups | None = None
    #: Seconds that executors have.
    executors: ExecutorTimes = ExecutorTimes()
    #: True if an executor must send the token that it got.
    authenticate_executors: bool = False
    #: Limits of the requests of executors.
    limits: RequestLimits = RequestLimits()

    @property
    def address(self) -> AgentAddress:
        """How executors reach the agent."""
        return AgentAddress(self.pid, f"{self.ip}:{self.port}")

    @property
    def pid(self) -> str:
        """The address of the agent."""
        return f"slave(1)@{self.ip}:{self.port}"

    def info(self, agent_id: str | None) -> Message:
        """The AgentInfo."""
        info: Message = {
            "hostname": self.hostname,
            "port": self.port,
            "resources": list(self.resources),
            "checkpoint": True,
        }
        if self.attributes:
            info["attributes"] = list(self.attributes)
        return info if agent_id is None else info | {"id": {"value": agent_id}}
