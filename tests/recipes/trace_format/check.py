"""The new format runs in ``simulate``, loads in a scenario and is suggested for a typo."""

import json
import subprocess
import sys
from pathlib import Path

from stretto.base.rng import Rng
from stretto.inputs.scenario.feed import materialise
from stretto.inputs.scenario.read import load_scenario

Path("pods.csv").write_text(
    "name,cpu_milli,memory_mib,start_s,seconds\na,4000,64,0,5\nb,4000,64,1,5\n"
)
Path("s.yaml").write_text("fleet: {like: 4cpu-8gib:1}\nworkloads: [{plain: {list: pods.csv}}]\n")
assert materialise(load_scenario(Path("s.yaml")), Rng(0)).pods == 2

simulate = [sys.executable, "-m", "stretto.cli.main", "simulate"]
simulate += ["--pods", "pods.csv", "--nodes-like", "4cpu-8gib:1", "--format"]
done = subprocess.run([*simulate, "plain", "--json", "-"], capture_output=True, text=True)
assert done.returncode == 0, done.stderr
report = json.loads(done.stdout)
assert (report["placed"], report["mean_wait_s"]) == (2, 2.0), report

done = subprocess.run([*simulate, "plian"], capture_output=True, text=True)
assert done.returncode == 2, done.returncode
assert "did you mean plain" in done.stderr, done.stderr
