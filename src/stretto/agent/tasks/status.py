"""A state that a task reaches on its agent."""

from enum import Enum
from typing import NamedTuple

from stretto.offers.messages.schema import Message


class Source(Enum):
    """Which part of the agent decided a state."""

    #: The agent itself.
    AGENT = "SOURCE_AGENT"
    #: The executor; for a command this is the agent too.
    EXECUTOR = "SOURCE_EXECUTOR"


class RunStatus(NamedTuple):
    """A state that a task reaches."""

    #: The state.
    state: str
    #: Text for people.
    message: str = ""
    #: Reason, such as REASON_COMMAND_EXECUTOR_FAILED.
    reason: str = ""
    #: Health, if the task has a check.
    healthy: bool | None = None
    #: CheckStatusInfo, if the task has a check.
    check: Message | None = None
    #: Resources whose limit the task has exceeded, in their own units; empty for none.
    exceeded: tuple[tuple[str, float], ...] = ()
    #: Which part of the agent decided it.
    source: Source = Source.EXECUTOR
