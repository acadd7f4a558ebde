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
    """Settings of one agent."""

    #: Host of the master.
    master_host: str
    #: Port of the master.
    master_port: int
    #: Directory of sandboxes and of the agent's own state.
    work_dir: Path
    #: Host name in offers.
    hostname: str
    #: Announced address, on which the agent also serves executors.
    ip: str = "127.0.0.1"
    #: Port of that address; agents on one machine need different ports.
    port: int = 5051
    #: Resource messages of everything that the agent offers.
    resources: tuple[Message, ...] = ()
    #: Attribute messages.
    attributes: tuple[Message, ...] = ()
    #: Value of the ``Authorization`` header for the master; empty without authentication.
    authorization: str = ""
    #: TLS settings for the master's certificate; None for plain HTTP.
    trust: ssl.SSLContext | None = None
    #: Fetcher of the URIs of tasks and executors.
    fetcher: Fetcher = Fetcher()
    #: Limits of tasks; None for no limits.
    cgroups: Cgroups | None = None
    #: Time limits of executors.
    executors: ExecutorTimes = ExecutorTimes()
    #: True if an executor must send its token.
    authenticate_executors: bool = False
    #: Limits of the requests of executors.
    limits: RequestLimits = RequestLimits()

    @property
    def address(self) -> AgentAddress:
        """Address of the agent for executors."""
        return AgentAddress(self.pid, f"{self.ip}:{self.port}")

    @property
    def pid(self) -> str:
        """The libprocess address of the agent for executors, which run on the same machine."""
        return self.pid_at(self.ip)

    def pid_at(self, ip: str) -> str:
        """The libprocess address of the agent at an IP address."""
        return f"slave(1)@{ip.removeprefix('::ffff:')}:{self.port}"

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
