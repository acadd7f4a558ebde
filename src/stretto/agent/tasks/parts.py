"""Assembly of the parts of an agent."""

from typing import Any, NamedTuple, Protocol

from stretto.agent.tasks.commands import CommandTasks
from stretto.agent.tasks.containers.container import ContainerTools
from stretto.agent.tasks.containers.volumes import Volumes
from stretto.agent.tasks.executors.api import AgentSide, ExecutorApi
from stretto.agent.tasks.executors.records import executor_records
from stretto.agent.tasks.executors.table import Executors, ExecutorTools
from stretto.agent.tasks.jobs import Jobs
from stretto.agent.tasks.ledger import TaskLedger
from stretto.agent.tasks.records import Key, TaskFiles
from stretto.agent.tasks.runs import RunTools
from stretto.agent.tasks.settings import TaskAgentSettings
from stretto.agent.tasks.storage import AgentFiles
from stretto.agent.tasks.updates import UpdateWriter
from stretto.agent.tasks.work import AgentWork
from stretto.base.rng import Rng


class AgentContext(AgentSide, Protocol):
    """The interface of the agent for its parts."""

    async def post(self, name: str, message: dict[str, Any]) -> None:
        """Send a message to the master; the message may be lost."""
        ...

    async def executor_ended(self, executor: Key, status: int) -> None:
        """Report the end of an executor."""
        ...


class AgentParts(NamedTuple):
    """The parts of an agent."""

    #: The work directory.
    files: AgentFiles
    #: Persistent volumes.
    volumes: Volumes
    #: Tasks and executors.
    work: AgentWork
    #: The API of executors.
    api: ExecutorApi


def assemble(settings: TaskAgentSettings, agent: AgentContext, rng: Rng, jobs: Jobs) -> AgentParts:
    """Build the parts of an agent."""
    files = TaskFiles(settings.work_dir)
    volumes = Volumes(settings.work_dir)
    containers = ContainerTools(settings.fetcher, volumes, settings.cgroups)
    ledger = TaskLedger(files, UpdateWriter(agent.now, rng), agent.post, jobs)
    commands = CommandTasks(ledger, RunTools(files, containers), jobs, agent.executor_ended)
    tools = ExecutorTools(
        executor_records(settings.work_dir),
        containers,
        settings.executors,
        settings.address,
        rng,
        settings.authenticate_executors,
    )
    executors = Executors(ledger, tools, jobs, agent.executor_ended)
    work = AgentWork(files, ledger, commands, executors)
    return AgentParts(
        AgentFiles(settings.work_dir),
        volumes,
        work,
        ExecutorApi(executors, ledger, agent, jobs, rng),
    )
