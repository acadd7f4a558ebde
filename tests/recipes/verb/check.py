"""The new verb is listed, runs, writes JSON and has its exit codes."""

import json
import subprocess
import sys


def stretto(*words: str) -> "subprocess.CompletedProcess[str]":
    """Run a command line."""
    program = [sys.executable, "-m", "stretto.cli.main", *words]
    return subprocess.run(program, capture_output=True, text=True)


assert "greet" in stretto("--help").stdout
assert stretto("greet", "world").stdout == "hello, world\n"
report = json.loads(stretto("greet", "world", "--json", "-").stdout)
assert report["schema"] == "stretto.greet/v1", report
assert stretto("greet", "\x07").returncode == 2
assert "did you mean greet" in stretto("gret").stderr
