"""Status of a task on its agent."""

from enum import Enum
from typing import NamedTuple

from stretto.offers.messages.schema import Message


class Source(Enum):
    """The part of the agent that decided a state."""

    #: The agent itself.
    AGENT = "SOURCE_AGENT"
    #: The executor; for a command this is the agent too.
    EXECUTOR = "SOURCE_EXECUTOR"


class RunStatus(NamedTuple):
    """Status of a task on its agent."""

    #: The state.
    state: str
    #: Message for users.
    message: str = ""
    #: Reason, such as REASON_COMMAND_EXECUTOR_FAILED.
    reason: str = ""
    #: Health, if the task has a check.
    healthy: bool | None = None
    #: CheckStatusInfo, if the task has a check.
    check: Message | None = None
    #: Resources whose limit the task has exceeded, in the units of the resource; empty for none.
    exceeded: tuple[tuple[str, float], ...] = ()
    #: The part of the agent that decided the state.
    source: Source = Source.EXECUTOR
