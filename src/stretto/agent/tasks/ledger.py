"""The tasks of an agent: their records, and their status updates to the frameworks."""

from collections.abc import Iterator

from stretto.agent.tasks.jobs import Jobs
from stretto.agent.tasks.records import Key, TaskFiles, TaskRecord
from stretto.agent.tasks.status import RunStatus
from stretto.agent.tasks.updates import Post, UpdateStream, UpdateWriter
from stretto.offers.messages.schema import Message


class TaskLedger:
    """All tasks that have not ended, or whose last update is not acknowledged."""

    def __init__(self, files: TaskFiles, writer: UpdateWriter, post: Post, jobs: Jobs) -> None:
        """Store records in files, and send updates by ``post``."""
        self._files = files
        self._writer = writer
        self._post = post
        self._jobs = jobs
        self._records: dict[Key, TaskRecord] = {}
        self._streams: dict[Key, UpdateStream] = {}

    def __iter__(self) -> Iterator[TaskRecord]:
        return iter(list(self._records.values()))

    def get(self, key: Key) -> TaskRecord | None:
        """Return a task; ``None`` if it is unknown."""
        return self._records.get(key)

    def of_executor(self, key: Key) -> list[TaskRecord]:
        """Tasks of an executor that have not ended."""
        return [
            each
            for each in self._records.values()
            if (each.framework_id, each.executor_id) == key and each.is_active
        ]

    def add(self, record: TaskRecord) -> bool:
        """Store a new task; return False if it cannot be stored, and therefore has failed."""
        try:
            self._files.prepare(record)
        except OSError as error:
            self.follow(record)
            text = f"Failed to store the task: {error.strerror or error}"
            self.report(record, RunStatus("TASK_FAILED", text, "REASON_CONTAINER_LAUNCH_FAILED"))
            return False
        self.follow(record)
        return True

    def follow(self, record: TaskRecord) -> None:
        """Send the updates of a task until the task has ended and all updates are acknowledged."""
        self._records[record.key] = record
        self._streams[record.key] = UpdateStream(record, self._files, self._post)
        self._jobs.start(self._send_updates(record.key))

    def deliver(self, records: list[TaskRecord]) -> None:
        """Record that tasks are sent to their executor.

        Raises:
            OSError: the record cannot be stored.
        """
        for record in records:
            record.deliver()
            self._files.records.save(record)

    def report(self, record: TaskRecord, status: RunStatus) -> None:
        """Report the state of a task."""
        self.forward(record, self._writer.status(record, status))

    def forward(self, record: TaskRecord, status: Message) -> None:
        """Send a complete TaskStatus; ignore a repeated status, and a status after the end."""
        stream = self._streams.get(record.key)
        if stream is not None and record.is_active and status["uuid"] not in record.known:
            stream.add(self._writer.update(record, status))

    def acknowledge(self, key: Key, identity: str) -> None:
        """Handle the acknowledgement of an update by the framework."""
        stream = self._streams.get(key)
        if stream is not None:
            stream.acknowledge(identity)

    def resend(self, framework_id: str | None = None) -> None:
        """Send the first update of each task again; of one framework, or of all if ``None``."""
        for key, stream in self._streams.items():
            if framework_id in (None, key[0]):
                stream.resend()

    async def _send_updates(self, key: Key) -> None:
        await self._streams[key].run()
        self._streams.pop(key, None)
        self._records.pop(key, None)
