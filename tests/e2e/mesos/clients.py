"""Clients in an environment of their own, installed from the configured package index."""

import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

#: Pure-Python packages; http-parser's C part does not build, and pymesos works without it.
PACKAGES = ("pymesos==0.3.15", "addict==2.4.0", "six==1.17.0")
PARSER = "http-parser==0.9.0"


class ClientMissingError(Exception):
    """A client cannot be installed here; its text says why."""


def pymesos(directory: Path) -> Path:
    """The Python of an environment with pymesos, made once per directory.

    Raises:
        ClientMissingError: a package cannot be had.
    """
    python = directory / "bin" / "python"
    if not (directory / "complete").exists():
        shutil.rmtree(directory, ignore_errors=True)
        _run(sys.executable, "-m", "venv", str(directory))
        _run(str(python), "-m", "pip", "install", "-q", "--no-deps", *PACKAGES)
        _parser(python, directory)
        (directory / "complete").touch()
    return python


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
