"""Published traces of many files run on hosts and in scenarios."""

from pathlib import Path

from stretto.inputs.neutral.shapes import nodes_like
from stretto.inputs.traces.formats import load_trace
from stretto.sim.traces.hosts import HostsStudy, simulate_on_hosts


def test_vms_of_all_categories_share_hosts_without_evictions(repo_root: Path) -> None:
    vms = load_trace("azure-vmtable", repo_root / "examples" / "traces" / "azure").pods
    report = simulate_on_hosts(vms, nodes_like("32cpu-128gib:4"), HostsStudy()).report
    assert report.placed == len(vms)


def test_tasks_run_on_the_machines_of_their_trace(repo_root: Path) -> None:
    folder = repo_root / "examples" / "traces" / "pai"
    fleet = load_trace("pai-2020", folder, nodes=folder)
    assert simulate_on_hosts(fleet.pods, fleet.nodes, HostsStudy()).report.placed == 46
