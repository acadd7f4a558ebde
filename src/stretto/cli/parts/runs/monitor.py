"""Metrics of a run: a text file at the end, or ``/metrics`` on loopback while it runs.

The thread of the plane publishes values between two steps. The server thread answers with the last
published values.
"""

from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from stretto.base.errors import InputError
from stretto.cli import sinks

if TYPE_CHECKING:
    from stretto.explain.metrics.metrics import Metrics
    from stretto.plane.plane import Plane

LOOPBACK: Final = "127.0.0.1"
"""The only address served."""
EVERY: Final = 2.0
"""Seconds between two publications."""


class Monitor(AbstractContextManager["Monitor"]):
    """Publishes the metrics of one plane."""

    def __init__(self, plane: "Plane", file: Path | None, port: int | None) -> None:
        """Watch a plane; serving and writing start at the beginning of the block.

        Raises:
            InputError: the file is not writable.
        """
        if file is not None:
            sinks.check_file("--metrics-file", str(file))
        self._plane = plane
        self._file = file
        self._port = port
        self._next = float("-inf")
        self._metrics: Metrics | None = None
        if file is not None or port is not None:
            from stretto.daemons.metrics import metrics_of

            self._metrics = metrics_of(plane)

    def __enter__(self) -> "Monitor":
        """Start serving.

        Raises:
            InputError: the port is in use or not permitted.
        """
        if self._metrics is None:
            return self
        from stretto.explain.metrics.exposition import PublishedMetrics

        self._published = PublishedMetrics()
        if self._port is not None:
            from prometheus_client import start_http_server

            registry = self._published.registry
            try:
                served, _ = start_http_server(self._port, addr=LOOPBACK, registry=registry)
            except OSError as error:
                expected = f"a free port ({error.strerror})"
                raise InputError("--metrics-port", self._port, expected) from error
            self._server = served
        self.tick(0.0)
        return self

    def __exit__(self, *_: object) -> None:
        """Publish and write the final values, and stop serving."""
        if self._metrics is None:
            return
        self._published.publish(self._metrics.families())
        if self._port is not None:
            self._server.shutdown()
            self._server.server_close()
        if self._file is not None:
            sinks.write_whole(self._file, self._published.text().encode())

    def tick(self, seconds: float) -> None:
        """Publish if an interval has passed; ``seconds`` is the time of the run."""
        if self._metrics is not None and self._port is not None and seconds >= self._next:
            self._next = seconds + EVERY
            self._published.publish(self._metrics.families())
