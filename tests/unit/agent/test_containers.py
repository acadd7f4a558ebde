"""Containers: URIs into the sandbox, limits by cgroup v2, and processes that stay behind."""

import asyncio
import io
import os
import tarfile
import threading
import zipfile
from collections.abc import Callable
from functools import partial
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from stretto.agent.tasks.containers import processes
from stretto.agent.tasks.containers.cgroups import Cgroups, LimitMode, weight
from stretto.agent.tasks.containers.container import (
    ContainerSpec,
    ContainerTools,
    LaunchError,
    TaskContainer,
)
from stretto.agent.tasks.containers.fetcher import Fetcher, FetchError
from stretto.agent.tasks.containers.volumes import VolumeError, Volumes
from stretto.base.errors import NotAllowedError

RESOURCES: tuple[dict[str, Any], ...] = tuple(
    {"name": name, "type": "SCALAR", "scalar": {"value": value}}
    for name, value in (("cpus", 0.5), ("mem", 64), ("mem", 64))
)


def fetch(tmp_path: Path, fetcher: Fetcher = Fetcher(), **uri: Any) -> Path:  # noqa: B008  (frozen)
    sandbox = tmp_path / "sandbox"
    sandbox.mkdir(exist_ok=True)
    fetcher.fetch([uri], sandbox, threading.Event())
    return sandbox


def source(tmp_path: Path, name: str = "data.txt") -> Path:
    path = tmp_path / name
    path.write_text("hello")
    return path


def tar(path: Path, member: str, kind: bytes = tarfile.REGTYPE) -> Path:
    entry = tarfile.TarInfo(member)
    entry.size, entry.type, entry.linkname = (5 if kind == tarfile.REGTYPE else 0), kind, "/etc"
    with tarfile.open(path, "w:gz") as packed:
        packed.addfile(entry, io.BytesIO(b"hello"))
    return path


def zipped(path: Path, member: str) -> Path:
    with zipfile.ZipFile(path, "w") as packed:
        entry = zipfile.ZipInfo(member)
        entry.external_attr = 0o755 << 16
        packed.writestr(entry, "hello")
    return path


@pytest.mark.parametrize("prefix", ["", "file://", "file://localhost"])
def test_a_local_file_is_copied(tmp_path: Path, prefix: str) -> None:
    sandbox = fetch(tmp_path, value=f"{prefix}{source(tmp_path)}")
    assert (sandbox / "data.txt").read_text() == "hello"


def test_output_file_and_executable_are_honoured(tmp_path: Path) -> None:
    sandbox = fetch(tmp_path, value=str(source(tmp_path)), output_file="a/run", executable=True)
    assert os.access(sandbox / "a/run", os.X_OK)


def test_archives_are_extracted_with_their_permissions(tmp_path: Path) -> None:
    sandbox = fetch(tmp_path, value=str(tar(tmp_path / "x.tgz", "d/one")))
    fetch(tmp_path, value=str(zipped(tmp_path / "y.zip", "d/two")))
    assert (sandbox / "d/one").read_text() == (sandbox / "d/two").read_text() == "hello"
    assert os.access(sandbox / "d/two", os.X_OK)


def test_an_archive_is_kept_as_it_is_without_extract(tmp_path: Path) -> None:
    sandbox = fetch(tmp_path, value=str(tar(tmp_path / "x.tgz", "one")), extract=False)
    assert [each.name for each in sandbox.iterdir()] == ["x.tgz"]


@pytest.mark.parametrize(
    "make",
    [
        lambda path: tar(path / "x.tar.gz", "../out"),
        lambda path: tar(path / "x.tar.gz", "link", tarfile.SYMTYPE),
        lambda path: zipped(path / "x.zip", "../out"),
        lambda path: source(path, "broken.tar"),
        lambda path: source(path, "broken.zip"),
        lambda path: source(path, "broken.gz"),
    ],
)
def test_an_archive_that_leaves_the_sandbox_or_is_damaged_is_refused(
    tmp_path: Path, make: Callable[[Path], Path]
) -> None:
    with pytest.raises(FetchError, match=r"Failed to fetch '.*(x\.|broken\.)"):
        fetch(tmp_path, value=str(make(tmp_path)))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("uri", "why"),
    [
        ({"value": "/no/such"}, "No such file"),
        ({"value": "/"}, "has no file name"),
        ({"value": "/usr", "output_file": "x"}, "a directory"),
        ({"value": "a/b"}, "--frameworks-home"),
        ({"value": "file://other/x"}, "on another machine, other"),
        ({"value": "ftp://h/x"}, "the scheme 'ftp' is not supported"),
        ({"value": "http://h/x"}, "--fetch-http"),
        ({"value": "/etc/hostname", "output_file": "../x"}, "leaves the sandbox"),
        ({"value": "/etc/hostname", "output_file": "/x"}, "leaves the sandbox"),
        ({"value": "/a/stdout"}, "set output_file"),
    ],
)
def test_a_uri_that_cannot_be_fetched_is_named(
    tmp_path: Path, uri: dict[str, Any], why: str
) -> None:
    with pytest.raises(FetchError, match=why):
        fetch(tmp_path, **uri)


def test_a_relative_uri_starts_at_the_home_of_frameworks(tmp_path: Path) -> None:
    source(tmp_path)
    assert (fetch(tmp_path, Fetcher(home=tmp_path), value="data.txt") / "data.txt").exists()


def test_a_full_disk_fails_the_fetch_and_leaves_no_part(tmp_path: Path) -> None:
    (tmp_path / "sandbox").mkdir()
    (tmp_path / "sandbox" / "data.txt").symlink_to("/dev/full")
    with pytest.raises(FetchError, match="No space left"):
        fetch(tmp_path, value=str(source(tmp_path)))
    assert not (tmp_path / "sandbox" / "data.txt").is_symlink()


class Endless(BaseHTTPRequestHandler):
    """Answers with 5 bytes, or with a body that never ends."""

    def do_GET(self) -> None:
        self.send_response(404 if self.path == "/none" else 200)
        self.end_headers()
        try:
            self.wfile.write(b"hello")
            while self.path == "/endless":
                self.wfile.write(bytes(1 << 16))
        except OSError:
            return

    def log_message(self, *args: Any, **named: Any) -> None:
        """Write nothing."""


def test_a_download_ends_at_its_limit(tmp_path: Path) -> None:
    with HTTPServer(("127.0.0.1", 0), Endless) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        get = partial(fetch, tmp_path, Fetcher(http=True, largest=1 << 18))
        url = f"http://127.0.0.1:{server.server_port}"
        assert (get(value=f"{url}/a.txt") / "a.txt").read_text() == "hello"
        with pytest.raises(FetchError, match="larger than 262,144 bytes"):
            get(value=f"{url}/endless")
        with pytest.raises(FetchError, match="404"):
            get(value=f"{url}/none")
        server.shutdown()


def hierarchy(tmp_path: Path, controllers: str = "cpuset cpu io memory") -> Path:
    base = tmp_path / "sys/fs/cgroup"
    base.mkdir(parents=True)
    (base / "cgroup.controllers").write_text(controllers)
    return base


@pytest.mark.parametrize(
    ("limiting", "limits", "wanted"),
    [
        (LimitMode.SHARE, {}, {"cpu.weight": "20", "memory.max": str(128 << 20)}),
        (
            LimitMode.CAP,
            {},
            {"cpu.weight": "20", "cpu.max": "50000 100000", "memory.max": str(128 << 20)},
        ),
        (
            LimitMode.SHARE,
            {"cpus": 2.0, "mem": float("inf")},
            {"cpu.weight": "20", "cpu.max": "200000 100000", "memory.max": "max"},
        ),
    ],
)
def test_resources_become_limits(
    tmp_path: Path, limiting: LimitMode, limits: dict[str, float], wanted: dict[str, str]
) -> None:
    base = hierarchy(tmp_path)
    cgroup = Cgroups(tmp_path, limiting).create("c", RESOURCES, limits)
    assert {each.name: each.read_text() for each in cgroup.iterdir()} == wanted
    assert (base / "stretto/cgroup.subtree_control").read_text() == "+cpu +memory"


@pytest.mark.parametrize(
    ("controllers", "why"), [(None, "not a cgroup v2 hierarchy"), ("cpu", "no controller memory")]
)
def test_a_machine_that_permits_no_limits_is_named(
    tmp_path: Path, controllers: str | None, why: str
) -> None:
    if controllers is not None:
        hierarchy(tmp_path, controllers)
    with pytest.raises(NotAllowedError, match=f"{why}.*--limits none"):
        Cgroups(tmp_path, LimitMode.SHARE)


def test_the_processes_of_a_container_have_a_limit(tmp_path: Path) -> None:
    base = hierarchy(tmp_path, "cpu memory pids")
    cgroup = Cgroups(tmp_path, LimitMode.SHARE, 64).create("c", RESOURCES, {})
    assert (cgroup / "pids.max").read_text() == "64"
    assert (base / "cgroup.subtree_control").read_text() == "+cpu +memory +pids"


def test_a_machine_without_the_controller_of_a_limit_is_named(tmp_path: Path) -> None:
    hierarchy(tmp_path, "cpu memory")
    with pytest.raises(NotAllowedError, match="no controller pids"):
        Cgroups(tmp_path, LimitMode.SHARE, 64)


def test_a_machine_with_cgroup_v1_is_named_with_its_remedy(tmp_path: Path) -> None:
    for each in ("cpu", "memory", "unified"):
        (tmp_path / "sys/fs/cgroup" / each).mkdir(parents=True)
    with pytest.raises(NotAllowedError, match=r"v1 has the controllers cpu, memory \(the kernel"):
        Cgroups(tmp_path, LimitMode.SHARE)


def test_a_container_that_exceeded_its_memory_is_recognized(tmp_path: Path) -> None:
    hierarchy(tmp_path)
    cgroups = Cgroups(tmp_path, LimitMode.SHARE)
    cgroup = cgroups.create("c", RESOURCES, {})
    (cgroup / "memory.events").write_text("low 0\noom 1\noom_kill 1\n")
    (cgroup / "memory.peak").write_text(str(128 << 20))
    killed = cgroups.memory_kill("c")
    assert killed is not None
    assert killed.text == "Memory limit exceeded: Requested: 128MB Maximum Used: 128MB"


@pytest.mark.parametrize(("cpus", "wanted"), [(0.001, 1), (1.0, 39), (2.0, 79), (1000.0, 10_000)])
def test_cpus_become_a_weight(cpus: float, wanted: int) -> None:
    assert weight(cpus) == wanted


def container(tmp_path: Path, command: str, cgroups: Cgroups | None = None) -> TaskContainer:
    spec = ContainerSpec("c", tmp_path / "c", {"value": command}, {}, {}, RESOURCES)
    return TaskContainer(spec, ContainerTools(Fetcher(), Volumes(tmp_path), cgroups))


def test_a_process_enters_its_cgroup_before_its_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = hierarchy(tmp_path)
    monkeypatch.setattr("stretto.agent.tasks.containers.container.ATTEMPTS", 1)

    async def main() -> int:
        made = container(tmp_path, "true", Cgroups(tmp_path, LimitMode.SHARE))
        process = await made.launch()
        await made.ended()
        return process.pid

    pid = asyncio.run(main())
    assert (base / "stretto/c/cgroup.procs").read_text() == f"{pid}\n"


def test_a_process_that_forks_away_ends_with_its_container(tmp_path: Path) -> None:
    async def main() -> None:
        made = container(tmp_path, "setsid sh -c 'echo $$ > pid; exec sleep 300' & sleep 0.2")
        await made.launch()
        assert (await made.ended()).code == 0

    asyncio.run(main())
    pid = int((tmp_path / "c/sandbox/pid").read_text())
    assert not processes.start_time(pid)


def test_a_process_that_was_started_but_not_stored_is_followed(tmp_path: Path) -> None:
    async def main() -> tuple[int, int]:
        first = await container(tmp_path, "echo x >> runs; sleep 0.2; exit 4").launch()
        await asyncio.sleep(0.05)
        second = container(tmp_path, "echo x >> runs")
        assert (await second.launch()).pid == first.pid
        third = container(tmp_path, "echo x >> runs")
        code = (await second.ended()).code
        await third.launch()
        return code or 0, (await third.ended()).code or 0

    assert asyncio.run(main()) == (4, 4)
    assert (tmp_path / "c/sandbox/runs").read_text() == "x\n"


def test_a_container_that_is_stopped_while_it_fetches_does_not_start(tmp_path: Path) -> None:
    async def main() -> None:
        made = container(tmp_path, "true")
        made.stop(1.0)
        await made.launch()

    with pytest.raises(LaunchError, match="stopped"):
        asyncio.run(main())


@pytest.mark.parametrize(
    ("info", "why"),
    [
        ({"type": "DOCKER"}, "DOCKER"),
        ({"type": "MESOS", "mesos": {"image": {"type": "DOCKER"}}}, "container.mesos.image"),
        ({"type": "MESOS", "volumes": [{"container_path": "x"}]}, "container.volumes"),
    ],
)
def test_a_container_that_needs_more_than_a_process_is_refused(
    tmp_path: Path, info: dict[str, Any], why: str
) -> None:
    spec = ContainerSpec("c", tmp_path / "c", {"value": "true"}, {}, info)
    with pytest.raises(LaunchError, match=why):
        asyncio.run(TaskContainer(spec, ContainerTools(Fetcher(), Volumes(tmp_path))).launch())


def volume(identity: str, path: str = "data") -> dict[str, Any]:
    disk = {"persistence": {"id": identity}, "volume": {"container_path": path, "mode": "RW"}}
    reservations = [{"type": "DYNAMIC", "role": "a/b"}]
    return {"name": "disk", "type": "SCALAR", "disk": disk, "reservations": reservations}


def sandbox_of(tmp_path: Path) -> Path:
    (tmp_path / "sandbox").mkdir(exist_ok=True)
    return tmp_path / "sandbox"


def test_a_volume_outlives_its_tasks_until_it_is_destroyed(tmp_path: Path) -> None:
    volumes, sandbox = Volumes(tmp_path), sandbox_of(tmp_path)
    for _ in range(2):
        volumes.attach([volume("v"), volume("w", "other")], sandbox)
    (sandbox / "data/file").write_text("kept")
    volumes.keep([volume("v")])
    assert (tmp_path / "volumes/a b/v/file").read_text() == "kept"
    assert not (tmp_path / "volumes/a b/w").exists()


@pytest.mark.parametrize("path", ["", "/data", "../data", "taken"])
def test_a_volume_whose_path_leaves_the_sandbox_or_is_taken_is_refused(
    tmp_path: Path, path: str
) -> None:
    sandbox = sandbox_of(tmp_path)
    (sandbox / "taken").mkdir()
    with pytest.raises(VolumeError, match=f"'{path}'"):
        Volumes(tmp_path).attach([volume("v", path)], sandbox)
