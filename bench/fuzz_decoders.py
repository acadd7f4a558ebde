"""Fuzzing of all decoders of the API server by coverage, without sockets.

    python bench/fuzz_decoders.py [--seconds S] [--seed N] [--findings FOLDER] [--record]

atheris (libFuzzer for Python) varies bodies of creations, updates and patches as JSON, YAML and
protobuf, selectors, continue tokens and whole request lines, and keeps inputs that reach new code.
A finding is an unexpected exception, which the server logs and answers as an internal error: its
input is written to FOLDER, once for each place of origin, and the run goes on. An answer of 500
that kube-apiserver gives too, such as one about an applied field that is not declared, is no
finding. The exit status is 1 with findings. ``--record`` adds the numbers to
``bench/results/fuzz-decoders-COMMIT.json``. Needs ``pip install atheris``.
"""

import argparse
import json
import logging
import re
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import atheris
from record import commit, machine, store

with atheris.instrument_imports(include=["stretto"], enable_loader_override=False):
    from hostile_requests import (
        ADMISSION,
        APPLY,
        DEFINITIONS,
        DEPLOYMENTS,
        JSON,
        MAPS,
        MERGE,
        OPERATIONS,
        PODS,
        REGISTRATION,
        STRATEGIC,
        WIDGETS,
        YAML,
        config,
        definition,
        deployment,
        named,
        operations,
        pod_of,
        sent,
        widget,
    )

    from stretto.base.clock import ManualClock
    from stretto.base.rng import Rng
    from stretto.stores.embedded.memory import MemoryStore
    from stretto.web.api.encoding import PROTOBUF, dumped
    from stretto.web.api.message import ApiRequest
    from stretto.web.api.server import ApiServer, ApiSettings

ROUNDS = 500
"""Requests to one server; then a new one with the same objects follows."""
LONGEST = 4096
"""Bytes of the longest input."""
EXECUTED = re.compile(r"number_of_executed_units:\s*(\d+)")


class Target(NamedTuple):
    """A request of which one part varies."""

    #: Method.
    method: str
    #: Path.
    path: str
    #: Media type of the body; a query parameter with an equals sign; empty: the path itself varies.
    varied: str
    #: A valid value of the part.
    example: bytes

    def request(self, data: bytes) -> ApiRequest:
        """The request with other data in the part."""
        if not self.varied:
            return ApiRequest(self.method, self.path + data.decode("latin-1"))
        if self.varied.endswith("="):
            return ApiRequest(self.method, f"{self.path}?{self.varied}{quote(data)}")
        return ApiRequest(self.method, self.path, {"content-type": self.varied}, data)


LIMITED = {
    "type": "object",
    "properties": {"size": {"type": "integer", "default": 1}},
    "x-kubernetes-validations": [{"rule": "self.size <= 3", "message": "too large"}],
}
"""Schema of the spec of a widget, with a default and a rule."""
MATCHES = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["secrets"]}
POLICY = named(
    "ValidatingAdmissionPolicy",
    ADMISSION,
    spec={
        "matchConstraints": {"resourceRules": [MATCHES]},
        "validations": [{"expression": "object.metadata.name.startsWith('a')"}],
    },
)
OBJECTS = (
    (MAPS, config(data={"a": "b"})),
    (PODS, pod_of(resources={"requests": {"cpu": "100m"}})),
    (DEPLOYMENTS, deployment(replicas=2)),
    (DEFINITIONS, definition(LIMITED)),
    (WIDGETS, widget({"size": 2})),
    (f"{REGISTRATION}/validatingadmissionpolicies", POLICY),
)


def targets() -> list[Target]:
    """All requests, in the order by which the first byte of an input selects one."""
    found = []
    for path, item in OBJECTS:
        name = f"{path}/{item['metadata']['name']}"
        body = json.dumps(item).encode()
        for media in (JSON, YAML) if path == WIDGETS else (JSON, YAML, PROTOBUF):
            example = dumped(item, media)
            found += [Target("POST", path, media, example), Target("PUT", name, media, example)]
        found.append(Target("PATCH", f"{name}?fieldManager=fuzz", APPLY, body))
        found += [Target("PATCH", name, media, body) for media in (MERGE, STRATEGIC)]
        steps = json.dumps(operations(1, path="/metadata/labels", value={"a": "b"})).encode()
        found.append(Target("PATCH", name, OPERATIONS, steps))
    lists = {"labelSelector=": b"app in (a,b),!c", "fieldSelector=": b"metadata.name=x"}
    lists |= {"continue=": b"e30", "limit=": b"1", "resourceVersion=": b"1", "watch=": b"0"}
    found += [Target("GET", PODS, name, value) for name, value in lists.items()]
    found.append(Target("DELETE", PODS, JSON, b'{"propagationPolicy":"Orphan"}'))
    found += [Target(method, "/", "", b"api/v1/nodes?limit=1") for method in ("GET", "POST")]
    return found


def new_server() -> ApiServer:
    """A server with an object of each kind."""
    clock = ManualClock(1_790_000_000.0)
    server = ApiServer(MemoryStore(clock, Rng(0)), ApiSettings(clock, Rng(1)))
    for path, item in OBJECTS:
        server.handle(sent("POST", path, item))
    return server


class LoggedErrors(logging.Handler):
    """Exceptions that the server logs, because it answers them with an internal error."""

    def __init__(self) -> None:
        """Listen to the server."""
        super().__init__()
        self._found: list[BaseException] = []
        log = logging.getLogger("stretto")
        log.addHandler(self)
        log.propagate = False

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the exception of a record."""
        if record.exc_info and record.exc_info[1] is not None:
            self._found.append(record.exc_info[1])

    def taken(self) -> list[BaseException]:
        """The exceptions since the last call."""
        found, self._found = self._found, []
        return found


class Fuzzed:
    """Requests to servers that are replaced from time to time; findings are written to a folder."""

    def __init__(self, findings: Path) -> None:
        """Start with the first server."""
        self._findings = findings
        self._targets = targets()
        self._server = new_server()
        self._rounds = 0
        self._errors = LoggedErrors()

    def one(self, data: bytes) -> None:
        """Send one request; the first byte of the input selects it."""
        if not data:
            return
        self._rounds += 1
        if self._rounds % ROUNDS == 0:
            self._server = new_server()
        target = self._targets[data[0] % len(self._targets)]
        self._server.handle(target.request(data[1:]))
        for error in self._errors.taken():
            self._note(error, target, data)

    def _note(self, error: BaseException, target: Target, data: bytes) -> None:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        name = f"{Path(frame.filename).stem}-{frame.lineno}-{type(error).__name__}.txt"
        head = f"{target.method} {target.path} {target.varied}\n{data[1:]!r}\n"
        path = self._findings / name
        if not path.exists():
            path.write_text(head + "".join(traceback.format_exception(error)))


def run(options: argparse.Namespace, findings: Path, corpus: Path) -> int:
    """Fuzz in a process of its own, because libFuzzer ends its process; the number of inputs."""
    for number, target in enumerate(targets()):
        (corpus / f"{number:03}").write_bytes(bytes([number]) + target.example)
    words = [sys.executable, __file__, "--inside"]
    words += ["--findings", str(findings), "--corpus", str(corpus)]
    words += ["--seconds", str(options.seconds), "--seed", str(options.seed)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    found = EXECUTED.search(done.stderr)
    if done.returncode or found is None:
        sys.exit(done.stderr[-4000:])
    return int(found[1])


def fuzz(one: Callable[[bytes], None], options: argparse.Namespace) -> None:
    """Run libFuzzer; it ends the process."""
    words = [f"-max_total_time={options.seconds}", f"-max_len={LONGEST}", "-print_final_stats=1"]
    atheris.Setup(
        [sys.argv[0], *words, f"-seed={options.seed}", "-timeout=30", str(options.corpus)], one
    )
    atheris.Fuzz()


def main() -> None:
    """Fuzz and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--findings", type=Path, default=Path("out/fuzz"))
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--corpus", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.findings.mkdir(parents=True, exist_ok=True)
    if options.inside:
        fuzz(Fuzzed(options.findings).one, options)
    start = time.time()
    with tempfile.TemporaryDirectory() as corpus:
        executed = run(options, options.findings, Path(corpus))
    found = sorted(path.name for path in options.findings.iterdir())
    figures = {"seconds": round(time.time() - start), "inputs": executed, "findings": len(found)}
    print(json.dumps(figures), *found, sep="\n")
    if options.record:
        store("fuzz-decoders", {"commit": commit(), "machine": machine(), **figures})
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
