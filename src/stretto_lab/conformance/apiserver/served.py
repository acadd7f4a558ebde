"""A local cluster that a thread serves over HTTP, for programs such as kubectl."""

import threading
from pathlib import Path
from typing import Final

from stretto.base.clock import WallClock
from stretto.base.rng import Rng
from stretto.daemons.scheduler import REPORT, plane_config
from stretto.framework.profile.profile import load_profile
from stretto.serving.sockets import listening
from stretto.stores.embedded.memory import MemoryStore
from stretto.web.api.message import Answer, ApiRequest
from stretto.web.api.server import ApiServer, ApiSettings
from stretto.web.application import application
from stretto.web.local.access import ServerAccess, write_kubeconfig
from stretto.web.local.cluster import LocalClusterProcess, LocalParts
from stretto.web.local.serving import LocalServer, ServedApplication

_READY_SECONDS: Final = 5.0
_SCHEDULERS: Final = ("default-scheduler",)


class ServedCluster:
    """An API server over memory, with optional controllers and scheduler."""

    def __init__(
        self, kubeconfig: Path, settings: ApiSettings | None = None, *, full: bool
    ) -> None:
        """Serve on a free port and write a kubeconfig.

        Args:
            kubeconfig: the file to write, with the token ``token``.
            settings: settings of the server; with ``None`` every request is that of an
                administrator.
            full: true to run controllers and a scheduler.
        """
        clock = WallClock()
        store = MemoryStore(clock, Rng(1))
        self._server = ApiServer(store, settings or ApiSettings(clock, Rng(2)))
        plane = None
        if full:
            plane = plane_config(load_profile("default"), _SCHEDULERS, 1, "numpy", REPORT)
        # The recorded nodes are simulated by kwok, which writes no events about containers.
        parts = LocalParts(controllers=full, plane=plane, kubelet_events=False)
        cluster = LocalClusterProcess(self._server, store, clock, parts)
        listener = listening("127.0.0.1", 0)
        site = ServedApplication(application(self.handle), listener)
        self._process = LocalServer([site], cluster)
        #: The port.
        self.port: int = listener.getsockname()[1]
        access = ServerAccess(f"http://127.0.0.1:{self.port}", "token")
        write_kubeconfig(kubeconfig, access)
        ready = threading.Event()
        self._thread = threading.Thread(target=self._process.run, args=(ready.set,), daemon=True)
        self._thread.start()
        ready.wait(_READY_SECONDS)

    def handle(self, request: ApiRequest) -> Answer:
        """Answer a request without HTTP."""
        return self._server.handle(request)

    def close(self) -> None:
        """Stop serving."""
        self._process.stop()
        self._thread.join(_READY_SECONDS)
