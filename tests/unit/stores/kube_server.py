"""A server that answers as a test configures it, on loopback, over plain HTTP or TLS."""

import asyncio
import json
import ssl
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
from aiohttp import web

from stretto.base.rng import Rng
from stretto.stores.kube.login.access import KubeconfigAccess
from stretto.stores.kube.store import KubeStore
from stretto.stores.kube.transport.event_loop import LoopThread
from stretto.stores.kube.transport.options import KubeOptions

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]

QUICK = KubeOptions(
    write_timeout=1.5,
    read_timeout=1.0,
    answer=1.0,
    first_wait=0.01,
    longest_wait=0.05,
    most_bytes=1 << 20,
    most_line=1 << 16,
)
IMPATIENT = msgspec.structs.replace(QUICK, write_timeout=0.3, read_timeout=0.3)
"""For writes and reads that never succeed."""


class Server:
    """Answers each request by the first rule that has one."""

    def __init__(self, folder: Path, context: ssl.SSLContext | None = None) -> None:
        #: Requests so far, as ``METHOD path``.
        self.requests: list[str] = []
        #: Called in order; a rule that returns ``None`` is skipped.
        self.rules: list[Callable[[web.Request], Any]] = []
        #: What its stores log in by.
        self.kubeconfig = folder / "kubeconfig"
        self._loop = LoopThread("fake-server")
        self._runner, self.port = self._loop.run(self._start(context))
        self._stores: list[KubeStore] = []

    def store(self, options: KubeOptions = QUICK) -> KubeStore:
        """A store that talks to it."""
        config = {
            "current-context": "x",
            "clusters": [{"name": "x", "cluster": {"server": f"http://127.0.0.1:{self.port}"}}],
            "users": [{"name": "x", "user": {"token": "secret"}}],
            "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}],
        }
        self.kubeconfig.write_text(json.dumps(config))
        self._stores.append(KubeStore(KubeconfigAccess(self.kubeconfig), Rng(1), options))
        return self._stores[-1]

    def close(self) -> None:
        """End it and its stores."""
        for store in self._stores:
            store.close()
        self._loop.close(self._runner.cleanup)

    async def _start(self, context: ssl.SSLContext | None) -> tuple[web.AppRunner, int]:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._serve)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context)
        await site.start()
        return runner, runner.addresses[0][1]

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        self.requests.append(f"{request.method} {request.path}")
        for rule in self.rules:
            answer = rule(request)
            if asyncio.iscoroutine(answer):
                answer = await answer
            if answer is not None:
                return answer
        return status(404, "NotFound")


def status(
    code: int, reason: str = "", message: str = "", after: int | None = None
) -> web.Response:
    """A Status as an API server sends it."""
    body = {"kind": "Status", "code": code, "reason": reason, "message": message or reason}
    headers = {} if after is None else {"Retry-After": str(after)}
    return web.json_response(body, status=code, headers=headers)


def pod(name: str, version: int, **spec: Any) -> dict[str, Any]:
    """A pod as an API server shows it."""
    meta = {"name": name, "namespace": "default", "uid": f"uid-{name}"}
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {**meta, "resourceVersion": str(version)},
        "spec": {"containers": [], **spec},
    }


def once(*answers: web.Response) -> Callable[[web.Request], Any]:
    """A rule that gives these answers, one a request, and then passes."""
    left = list(answers)
    return lambda _: left.pop(0) if left else None


def at(method: str, ending: str, answer: Callable[[], Any]) -> Callable[[web.Request], Any]:
    """A rule for a method and the end of a path."""
    return lambda request: (
        answer() if request.method == method and request.path.endswith(ending) else None
    )


def lines(*changes: dict[str, Any] | bytes, hold: float = 0.0) -> Callable[[web.Request], Any]:
    """A rule that answers watches with these lines, then ends after a while."""

    async def stream(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for change in changes:
            line = change if isinstance(change, bytes) else json.dumps(change).encode()
            await response.write(line + b"\n")
        await asyncio.sleep(hold)
        return response

    return lambda request: stream(request) if "watch" in request.query else None
