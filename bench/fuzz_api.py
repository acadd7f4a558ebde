"""Requests that schemathesis derives from our own OpenAPI, to a running ``stretto up``.

    python bench/fuzz_api.py [--seconds S] [--seed N] [--record]

Every operation of the document receives generated parameters and bodies, valid and invalid, as an
administrator, over TLS. Requests for endless streams are left out. A finding is an unexpected
exception in the log of the server, or its end; answers of 500 that kube-apiserver gives too are
counted apart. The exit status is 1 with findings. ``--record`` adds the numbers to
``bench/results/fuzz-api-COMMIT.json``. Needs ``pip install schemathesis``.
"""

import argparse
import base64
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import yaml
from local_server import local_server
from record import commit, machine, store

HOOKS = """
import schemathesis

@schemathesis.hook
def map_query(context, query):
    return {name: value for name, value in (query or {}).items() if name != "watch"}
"""
"""Removes the parameter that makes an answer endless."""
SENT = re.compile(r"(\d+) generated")
REFUSED = re.compile(r"^\[5\d\d\].*\n\n +`(.*)`$", re.MULTILINE)
QUOTED = re.compile(r'"[^"]*"')
FAULT = "Traceback (most recent call last)"


def generate(folder: Path, kubeconfig: Path, seed: int, seconds: int) -> tuple[int, list[str]]:
    """Run schemathesis; return the number of cases and the messages of answers of 500."""
    access = yaml.safe_load(kubeconfig.read_text())
    cluster, user = access["clusters"][0]["cluster"], access["users"][0]["user"]
    authority, hooks = folder / "authority.pem", folder / "fuzz_hooks.py"
    authority.write_bytes(base64.b64decode(cluster["certificate-authority-data"]))
    hooks.write_text(HOOKS)
    words = [
        str(Path(sys.executable).absolute()),
        "-m",
        "schemathesis.cli",
        "run",
        f"{cluster['server']}/openapi/v2",
    ]
    words += ["--header", f"Authorization: Bearer {user['token']}", "--tls-verify", str(authority)]
    words += ["--checks", "not_a_server_error", "--phases", "coverage,fuzzing", "--no-color"]
    words += ["--max-time", str(seconds), "--request-timeout", "20", "--seed", str(seed)]
    words += [
        "--exclude-path-regex",
        "/watch/",
        "--continue-on-failure",
        "--generation-database",
        "none",
        "--no-shrink",
    ]
    path = os.pathsep.join([str(folder), *os.environ.get("PYTHONPATH", "").split(os.pathsep)])
    environment = {**os.environ, "SCHEMATHESIS_HOOKS": "fuzz_hooks", "PYTHONPATH": path}
    done = subprocess.run(
        words, capture_output=True, text=True, check=False, env=environment, cwd=folder
    )
    if not SENT.search(done.stdout):
        sys.exit(done.stdout[-2000:] + done.stderr[-2000:])
    (cases,) = SENT.findall(done.stdout)
    return int(cases), sorted({_message(each) for each in REFUSED.findall(done.stdout)})


def _message(status: str) -> str:
    """The message of a status without quoted parts."""
    return QUOTED.sub('""', json.loads(status)["message"])


def measure(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Send requests until the time is over."""
    log = folder / "log"
    with local_server(folder, log=log) as server:
        cases, messages = generate(folder, server.kubeconfig, options.seed, options.seconds)
        is_alive = server.process.poll() is None
    text = log.read_text(errors="replace")
    if FAULT in text:
        print(text[text.index(FAULT) :][:5000])
    figures = {"seconds": options.seconds, "cases": cases, "answers_500": messages}
    return {**figures, "exceptions": text.count(FAULT), "is_alive": is_alive}


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--record", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = measure(Path(folder), options)
    print(json.dumps(figures))
    if options.record:
        store("fuzz-api", {"commit": commit(), "machine": machine(), **figures})
    sys.exit(bool(figures["exceptions"]) or not figures["is_alive"])


if __name__ == "__main__":
    main()
