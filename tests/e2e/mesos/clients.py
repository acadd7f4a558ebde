"""Mesos clients in environments of their own, installed from the configured package indexes."""

import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path

#: Pure-Python packages; http-parser's C part does not build, and pymesos works without it.
PYMESOS = ("pymesos==0.3.15", "addict==2.4.0", "six==1.17.0")
PARSER = "http-parser==0.9.0"
#: A checkout of mesos-go: the proxy of Go modules does not have it.
MESOS_GO = "STRETTO_MESOS_GO"
GO_MODULE = """module github.com/mesos/mesos-go

go 1.20

require (
\tgithub.com/gogo/protobuf v1.0.0
\tgithub.com/pborman/uuid v1.2.1
\tgithub.com/pquerna/ffjson v0.0.0-20190930134022-aa0246cd15f7
)
"""


class ClientMissingError(Exception):
    """A client cannot be installed here; its text says why."""


def python_with(directory: Path, *packages: str, parser: bool = False) -> Path:
    """The Python of an environment with packages, made once per directory.

    Raises:
        ClientMissingError: a package cannot be had.
    """

    def make() -> None:
        _run(sys.executable, "-m", "venv", str(directory))
        if packages:
            _run(str(python), "-m", "pip", "install", "-q", *packages)
        if parser:
            _run(str(python), "-m", "pip", "install", "-q", "--no-deps", *PYMESOS)
            _parser(python, directory)

    python = directory / "bin" / "python"
    _once(directory, make)
    return python


def node_with(directory: Path, *packages: str) -> Path:
    """The folder of modules with packages.

    Raises:
        ClientMissingError: Node or a package cannot be had.
    """
    if shutil.which("npm") is None or shutil.which("node") is None:
        raise ClientMissingError("npm or node is not installed")

    def make() -> None:
        directory.mkdir(parents=True)
        _run("npm", "install", "--silent", "--no-audit", "--prefix", str(directory), *packages)

    _once(directory, make)
    return directory / "node_modules"


def go_program(directory: Path, name: str) -> Path:
    """A program of mesos-go, built from the checkout that a variable names.

    Raises:
        ClientMissingError: there is no Go or no checkout, or it does not build.
    """
    source = os.environ.get(MESOS_GO)
    if shutil.which("go") is None:
        raise ClientMissingError("go is not installed")
    if source is None:
        raise ClientMissingError(
            f"the proxy of Go modules does not have mesos-go: set {MESOS_GO} to a checkout"
        )

    def make() -> None:
        leave = shutil.ignore_patterns("vendor", "*_test.go", ".git")
        shutil.copytree(source, directory, ignore=leave)
        (directory / "go.mod").write_text(GO_MODULE)
        program = f"./api/v1/cmd/{name}"
        _run("go", "build", "-C", str(directory), "-mod=mod", "-o", "bin/", program)

    _once(directory, make)
    return directory / "bin" / name


def _once(directory: Path, make: Callable[[], None]) -> None:
    """Make a directory, unless it is complete."""
    if not (directory / "complete").exists():
        shutil.rmtree(directory, ignore_errors=True)
        make()
        (directory / "complete").touch()


def _parser(python: Path, directory: Path) -> None:
    """Install the Python files of http-parser, which fall back to its Python parser."""
    sources = directory / "sources"
    options = ["--no-deps", "--no-binary", ":all:", "-d", str(sources)]
    _run(str(python), "-m", "pip", "download", "-q", *options, PARSER)
    (archive,) = sources.glob("*.tar.gz")
    with tarfile.open(archive) as packed:
        packed.extractall(sources, filter="data")
    (package,) = sources.glob("*/http_parser")
    (libraries,) = (directory / "lib").glob("python*/site-packages")
    target = libraries / "http_parser"
    target.mkdir()
    for file in package.glob("*.py"):
        shutil.copy(file, target)


def _run(*line: str) -> None:
    done = subprocess.run(line, capture_output=True, text=True, timeout=240, check=False)
    if done.returncode:
        reason = (done.stderr or done.stdout).strip().splitlines()[-1:]
        raise ClientMissingError(f"{' '.join(line[1:4])}: {' '.join(reason)}")
