"""An agent that runs the tasks of Mesos frameworks on this machine.

Tasks survive a restart of the agent: their processes have separate sessions, and the agent writes
its state to disk before it sends a message to the master.
"""

import asyncio
from collections.abc import Callable
from typing import Any, Final

from stretto.agent.tasks.client import MasterClient, MasterError
from stretto.agent.tasks.executors.server import AgentApp
from stretto.agent.tasks.jobs import Jobs
from stretto.agent.tasks.parts import AgentParts, assemble
from stretto.agent.tasks.records import Key
from stretto.agent.tasks.settings import CAPABILITIES, TaskAgentSettings
from stretto.base.clock import Clock
from stretto.base.rng import Rng
from stretto.offers.master.server.serve import ServerSettings, serve_application
from stretto.offers.messages.schema import Message
from stretto.serving.tasks import end_tasks

RETRY: Final = 1.0
"""Seconds between two attempts to reach the master."""
VERSION: Final = "1.11.0"
"""Version of Mesos that the agent reports."""


class TaskAgent:
    """Agent of one machine."""

    def __init__(
        self, settings: TaskAgentSettings, clock: Clock, rng: Rng, log: Callable[[str], None]
    ) -> None:
        """Run tasks with these settings; ``log`` receives each change of the connection."""
        self._settings = settings
        self._clock = clock
        self._client = MasterClient(settings)
        self._log = log
        self._said = ""
        self._jobs = Jobs(log)
        self._parts: AgentParts = assemble(settings, self, rng, self._jobs)
        self._agent_id = self._parts.files.agent_id()

    @property
    def app(self) -> AgentApp:
        """The application that serves executors."""
        return AgentApp(self._parts.api, self._settings.limits)

    async def serve(self) -> None:
        """Serve executors and the master until SIGINT or SIGTERM.

        Raises:
            InputError: the port is in use, or a stored record cannot be read.
        """
        settings = self._settings
        server = serve_application(self.app, ServerSettings(settings.ip, settings.port))
        loop = asyncio.get_running_loop()
        jobs = loop.create_task(self.run()), loop.create_task(server)
        try:
            await asyncio.wait(jobs, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await end_tasks(*jobs)

    async def run(self) -> None:
        """Follow stored tasks, and serve the master until cancelled.

        Raises:
            InputError: a stored record cannot be read.
        """
        self._parts.work.recover()
        while True:
            name, message = self._registration()
            try:
                async for each in self._client.messages(name, message):
                    self._handle(each["name"], each["message"])
                self._note("the master closed the connection")
            except (OSError, MasterError, TimeoutError) as error:
                self._note(f"no connection to the master: {str(error) or 'no answer in time'}")
            await asyncio.sleep(RETRY)

    def _note(self, text: str) -> None:
        """Log a change of the connection; the same trouble again is not logged."""
        if text != self._said:
            self._log(text)
        self._said = text

    def info(self) -> Message:
        """The AgentInfo of this agent."""
        return self._settings.info(self._agent_id)

    def now(self) -> float:
        """The time in seconds since 1970."""
        return self._clock.now()

    def forward(self, executor: Key, data: str) -> None:
        """Send bytes of an executor, in base64, to its framework; the bytes may be lost."""
        self._jobs.start(self.post("ExecutorToFrameworkMessage", self._named(executor, data=data)))

    async def executor_ended(self, executor: Key, status: int) -> None:
        """Report the end of an executor; a registration repeats it to a master that missed it."""
        await self.post("ExitedExecutorMessage", self._named(executor, status=status))

    async def post(self, name: str, message: dict[str, Any]) -> None:
        """Send a message; if the master cannot receive it now, the sender of the update retries."""
        try:
            await self._client.post(name, message)
        except (OSError, MasterError, TimeoutError) as error:
            self._log(f"{name} was not sent: {error}")

    def _named(self, executor: Key, **fields: Any) -> Message:
        framework_id, executor_id = executor
        return {
            "slave_id": {"value": self._agent_id},
            "framework_id": {"value": framework_id},
            "executor_id": {"value": executor_id},
            **fields,
        }

    def _registration(self) -> tuple[str, Message]:
        """The first message of a connection."""
        message: Message = {
            "slave": self.info(),
            "version": VERSION,
            "agent_capabilities": [{"type": each} for each in CAPABILITIES],
            "checkpointed_resources": self._parts.files.resources(),
        }
        if self._agent_id is None:
            return "RegisterSlaveMessage", message
        return "ReregisterSlaveMessage", message | self._parts.work.report()

    def _handle(self, name: str, message: Message) -> None:
        """Handle one message of the master."""
        handlers: dict[str, Callable[[Message], None]] = {
            "SlaveRegisteredMessage": self._registered,
            "SlaveReregisteredMessage": self._registered_again,
            "PingSlaveMessage": self._ping,
            "CheckpointResourcesMessage": self._store_resources,
            "ShutdownMessage": self._shut_down,
        }
        handler = handlers.get(name)
        if handler is None:
            self._parts.work.handle(name, message)
        else:
            handler(message)

    def _registered(self, message: Message) -> None:
        self._agent_id = message["slave_id"]["value"]
        self._parts.files.save_agent_id(self._agent_id)
        self._note(f"registered as {self._agent_id}")

    def _registered_again(self, message: Message) -> None:
        self._note(f"re-registered as {message['slave_id']['value']}")
        self._parts.work.resend()

    def _ping(self, message: Message) -> None:
        del message
        self._jobs.start(self.post("PongSlaveMessage", {}))

    def _store_resources(self, message: Message) -> None:
        resources = message.get("resources", [])
        self._parts.files.save_resources(resources)
        self._parts.volumes.keep(resources)

    def _shut_down(self, message: Message) -> None:
        """End all tasks and register as a new agent, because the master removed this one."""
        self._log(f"shut down by the master: {message.get('message', '')}")
        self._parts.work.end_all()
        self._agent_id = None
        self._parts.files.forget_agent()
