"""Streams, lists and logins that break off, and the connections that stay open after a hang-up."""

import asyncio
import json
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from aiohttp import web

from stretto.api.wire.kinds import POD
from stretto.base.errors import InputError, UnreachableError
from stretto.base.rng import Rng
from stretto.stores.kube.login.access import KubeconfigAccess
from stretto.stores.kube.store import KubeStore
from stretto.stores.kube.transport.event_loop import LoopThread
from tests.unit.stores.kube_server import QUICK, Server, lines, pod, status
from tests.unit.stores.test_kube import listed, polled
from tests.unit.stores.test_kubeconfig import config, counting, plugin, written


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    server = Server(tmp_path)
    yield server
    server.close()


def soon(holds: Callable[[], object], seconds: float = 30.0) -> bool:
    """Return whether something holds within some seconds."""
    until = time.monotonic() + seconds
    while not (held := holds()) and time.monotonic() < until:
        time.sleep(0.01)
    return bool(held)


def added(name: str, version: int) -> dict[str, object]:
    return {"type": "ADDED", "object": pod(name, version)}


# ---------------------------------------------------------------- watches


@pytest.mark.parametrize("is_cut", [True, False])
def test_a_refusal_that_breaks_off_ends_the_connection_and_not_the_watch(
    server: Server, is_cut: bool
) -> None:
    """A killed server announces a body and sends none or a part of it."""

    async def refuse(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(status=503, headers={"Content-Length": "100"})
        await response.prepare(request)
        if is_cut:
            assert request.transport is not None
            request.transport.abort()
        else:
            await asyncio.sleep(3)
        return response

    reported = lines(added("b", 4), hold=30)
    server.rules = [
        lambda request: refuse(request) if len(server.requests) == 1 else reported(request)
    ]
    options = msgspec.structs.replace(QUICK, answer=0.2)
    watch = server.store(options).watch(POD, 2)
    assert soon(lambda: [event.record.name for event in watch.poll()] == ["b"])


def test_a_refused_watch_returns_after_the_stated_delay(server: Server) -> None:
    came: list[float] = []

    def turn_away(_: web.Request) -> web.Response:
        came.append(time.monotonic())
        return status(429, "TooManyRequests", after=1)

    server.rules = [turn_away]
    server.store(msgspec.structs.replace(QUICK, longest_wait=0.4)).watch(POD, 2)
    assert soon(lambda: len(came) >= 3)
    assert min(came[1] - came[0], came[2] - came[1]) >= 0.4  # the longest that is obeyed


def test_a_closed_watch_ends_its_connection(server: Server) -> None:
    gone: list[str] = []

    async def hold(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        while request.transport is not None:  # noqa: ASYNC110  (nothing tells of it)
            await asyncio.sleep(0.01)
        gone.append(request.path)
        return response

    server.rules = [hold]
    watch = server.store().watch(POD, 2)
    assert soon(lambda: watch.connections)
    watch.close()
    assert soon(lambda: gone)
    assert watch.poll() == []


def test_an_unexpected_end_of_a_watch_is_reported_to_its_reader(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = server.store()

    async def broken(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(store._line, "open", broken)
    watch = store.watch(POD, 2)
    with pytest.raises(ZeroDivisionError):
        soon(watch.poll)


# ---------------------------------------------------------------- lists


def page(names: list[str], more: str = "") -> web.Response:
    items = [pod(name, 3) for name in names]
    return web.json_response(
        {"metadata": {"resourceVersion": "9", "continue": more}, "items": items}
    )


def paged(*pages: web.Response) -> Callable[[web.Request], web.Response]:
    """A server that cannot stream lists."""
    left = list(pages)
    return lambda request: status(422, "Invalid") if "watch" in request.query else left.pop(0)


def test_a_list_whose_stream_stays_silent_is_read_in_pages(server: Server) -> None:
    silent = lines(hold=30)
    server.rules = [silent, lambda _: page(["a"])]
    began = time.monotonic()
    assert len(server.store().list(POD).records) == 1
    assert time.monotonic() - began < 5


def test_a_list_with_expired_pages_restarts(server: Server) -> None:
    server.rules = [paged(page(["a"], "x"), status(410, "Expired"), page(["a"], "y"), page(["b"]))]
    assert [record.name for record in server.store().list(POD).records] == ["a", "b"]


def test_a_list_whose_pages_always_expire_is_not_available_now(server: Server) -> None:
    turns = ((page(["a"], "x"), status(410, "Expired")) for _ in range(3))
    server.rules = [paged(*[answer for turn in turns for answer in turn])]
    with pytest.raises(UnreachableError, match="it dropped its list"):
        server.store().list(POD)


def test_an_object_too_deep_to_be_read_fails_alone_in_watches_and_lists(server: Server) -> None:
    """A server accepts this in a CRD with free-form fields; the stream would end there."""
    nested = b"[" * 200_000 + b"]" * 200_000
    deep = json.dumps(added("b", 4)).encode()[:-2] + b', "x": %s}}' % nested
    server.rules = [lines(added("a", 3), deep, added("c", 5), listed(7), hold=5)]
    store = server.store(msgspec.structs.replace(QUICK, most_line=1 << 20))
    assert [event.record.name for event in polled(store.watch(POD, 2), 2)] == ["a", "c"]
    assert [record.name for record in store.list(POD).records] == ["a", "c"]


@pytest.mark.parametrize("version", ["", "abc", None])
def test_what_has_no_version_is_no_list_and_the_address_is_doubted(
    server: Server, version: str | None
) -> None:
    server.rules = [paged(web.json_response({"metadata": {"resourceVersion": version}}))]
    with pytest.raises(InputError, match=r"list pods: .* does this address lead to a Kubernetes"):
        server.store().list(POD)


def test_what_has_no_metadata_is_no_object(server: Server) -> None:
    server.rules = [lambda _: web.json_response({"managedFields": []})]
    with pytest.raises(InputError, match="an object of the server"):
        server.store().get(POD, "default", "web")


def test_a_proxy_that_refuses_is_named_without_the_password(server: Server, tmp_path: Path) -> None:
    server.rules = [lambda _: web.Response(status=407)]
    proxy = {"proxy-url": f"http://ann:geheim@127.0.0.1:{server.port}"}
    store = KubeStore(KubeconfigAccess(written(tmp_path, config(None, **proxy))), Rng(1), QUICK)
    with closing(store), pytest.raises(UnreachableError, match="its proxy answered 40") as reported:
        store.get(POD, "default", "web")
    assert "geheim" not in str(reported.value)


# ---------------------------------------------------------------- the thread and its programs


def test_a_plugin_is_run_by_the_store_s_own_thread(server: Server, tmp_path: Path) -> None:
    shown: list[str | None] = []

    def answer(request: web.Request) -> web.Response:
        shown.append(request.headers.get("Authorization"))
        return web.json_response(pod("web", 5)) if len(shown) > 1 else status(401, "Unauthorized")

    server.rules = [answer]
    plugin(tmp_path, counting(tmp_path))
    file = tmp_path / "kubeconfig"
    file.write_text(
        file.read_text().replace("https://127.0.0.1:1", f"http://127.0.0.1:{server.port}")
    )
    store = KubeStore(KubeconfigAccess(file), Rng(1), QUICK)
    try:
        assert store.get(POD, "default", "web") is not None
    finally:
        store.close()
    assert shown == ["Bearer t1", "Bearer t2"]


def test_an_abandoned_plugin_is_terminated(tmp_path: Path) -> None:
    script = f"""
import os, pathlib, time
pathlib.Path({str(tmp_path / "pid")!r}).write_text(str(os.getpid()))
time.sleep(60)
"""
    access, loop = plugin(tmp_path, script), LoopThread("asks")
    request = loop.start(access.login())
    try:
        assert soon(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text())
        request.cancel()
        pid = int((tmp_path / "pid").read_text())
        assert soon(lambda: not is_running(pid))
    finally:
        loop.close(nothing)


def test_a_thread_with_a_failing_last_action_still_ends() -> None:
    async def fail() -> None:
        raise ZeroDivisionError

    loop = LoopThread("ends")
    with pytest.raises(ZeroDivisionError):
        loop.close(fail)
    assert not loop._thread.is_alive()


async def nothing() -> None:
    """There is nothing to close."""


def is_running(pid: int) -> bool:
    """Return whether a process is there and no mere remains."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().split(") ")[1][0] != "Z"
    except OSError:
        return False
