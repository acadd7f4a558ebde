"""The figures that ship with the package are those of the upstream lists."""

import importlib.util
from pathlib import Path

import pytest

from stretto.inputs.traces.openb.figures import (
    bundled_openb,
    count_nodes,
    count_pods,
    read_figures,
)
from stretto.inputs.traces.openb.reader import load_openb


def test_the_fleet_has_the_published_size() -> None:
    fleet = bundled_openb()
    assert (len(fleet.nodes), fleet.gpu_milli, len(fleet.pods)) == (1213, 6_212_000, 8152)
    assert sum(pod.gpu_milli_total for pod in fleet.pods) == 6_086_800


def test_the_figures_are_fifteen_shapes_and_162_kinds() -> None:
    figures = read_figures()
    assert (len(figures.nodes), len(figures.pods)) == (15, 162)
    assert len({msg_without_qos(kind) for kind in figures.pods}) == 151


def msg_without_qos(kind: object) -> tuple[object, ...]:
    return tuple(getattr(kind, name) for name in kind.__struct_fields__[1:-1])  # type: ignore[attr-defined]


def test_source_and_licence_are_named() -> None:
    figures = read_figures()
    assert figures.licence == "Apache-2.0"
    assert "hkust-adsl/kubernetes-scheduler-simulator" in figures.source
    assert "Weng et al." in figures.citation


def test_names_are_made_up_and_unique() -> None:
    fleet = bundled_openb()
    assert fleet.nodes[0].name == "openb-node-0000"
    assert len({pod.name for pod in fleet.pods}) == len(fleet.pods)


def test_the_figures_are_those_of_the_upstream_lists(shared_data: Path) -> None:
    folder = shared_data / "openb"
    upstream = load_openb(
        folder / "openb_node_list_gpu_node.csv", folder / "openb_pod_list_default.csv"
    )
    bundled = bundled_openb()
    assert count_nodes(bundled.nodes) == count_nodes(upstream.nodes)
    assert count_pods(bundled.pods) == count_pods(upstream.pods)


def test_the_script_makes_the_very_file(shared_data: Path, repo_root: Path) -> None:
    path = repo_root / "scripts" / "make_openb_figures.py"
    spec = importlib.util.spec_from_file_location("make_openb_figures", path)
    if spec is None or spec.loader is None:
        pytest.fail("the script cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    text = (repo_root / "src/stretto/inputs/data/openb.json").read_text()
    assert module.make(shared_data / "openb") == text
