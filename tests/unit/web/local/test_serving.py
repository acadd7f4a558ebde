"""The process of a local cluster."""

from typing import Any

import pytest

from stretto.serving.sockets import LOOPBACK, listening
from stretto.web.local.serving import LocalServer, ServedApplication


class BrokenCluster:
    """A cluster whose first step fails."""

    def on_change(self, _told: Any) -> None:
        """Nothing changes."""

    def step(self) -> bool:
        """Fail."""
        raise RuntimeError("broken")


async def app(scope: Any, receive: Any, send: Any) -> None:
    """Answer nothing."""


def test_a_failed_step_ends_the_server_and_is_raised() -> None:
    cluster: Any = BrokenCluster()
    with listening(LOOPBACK, 0) as listener, pytest.raises(RuntimeError, match="broken"):
        LocalServer([ServedApplication(app, listener)], cluster).run(lambda: None)
