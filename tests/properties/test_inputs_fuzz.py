"""Reading any file ends in a result or in an error of ours."""

import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from stretto.base.errors import StrettoError
from stretto.base.rng import Rng
from stretto.inputs.neutral.shapes import nodes_like
from stretto.inputs.objects.manifests import load_objects
from stretto.inputs.scenario.feed import materialise
from stretto.inputs.scenario.format_keys import file_type
from stretto.inputs.scenario.read import load_scenario
from stretto.inputs.scenario.schema import (
    ArrivalSpec,
    NodeShapeSpec,
    PodsSpec,
    ScenarioFile,
    SyntheticPods,
)
from stretto.inputs.traces.azure_vm import load_vms
from stretto.inputs.traces.openb.reader import load_nodes, load_pods
from stretto.inputs.traces.philly import load_jobs


def run_scenario(path: Path) -> object:
    scenario = load_scenario(path)
    return materialise(scenario, Rng(scenario.seed))


READERS: dict[str, Callable[[Path], object]] = {
    "openb nodes": load_nodes,
    "openb pods": load_pods,
    "philly": load_jobs,
    "azure-vm": load_vms,
    "manifests": lambda path: load_objects([path]),
    "scenario": run_scenario,
}

GOOD = {
    "openb nodes": "sn,cpu_milli,memory_mib,gpu,model\nn-0,64000,262144,2,P100\nn-1,3200,65,0,\n",
    "openb pods": (
        "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,"
        "deletion_time,scheduled_time\np-0,12000,16384,1,460,T4|P100,LS,Running,0,12,0\n"
        "p-1,6000,12288,0,0,,BE,Failed,4,5,\n"
    ),
    "philly": "job_id,submit_time_s,num_gpus,duration_s,model_name\n0,0.0,1,16482.0,Vgg\n",
    "azure-vm": (
        "vm_id,arrival_s,batch_id,vcpu,memory_gb,duration_min_s,duration_max_s,censored\n"
        "0,0,0,8,14.0,300,300,0\n"
    ),
    "manifests": (
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  replicas: 2\n"
        "  selector: {matchLabels: {app: web}}\n"
        "  template:\n    metadata: {labels: {app: web}}\n    spec: {containers: [{name: c}]}\n"
    ),
    "scenario": (
        "seed: 3\nfleet: {like: '8cpu-32gib:3'}\nworkloads:\n- name: a\n"
        "  pods: {count: 4, gang: 2, cpu: 500m}\n  arrival: {rate: 5}\nshards: 2\n"
    ),
}


def read(name: str, data: bytes) -> object:
    """Return the result of a reader for some bytes; a refusal is a result too."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        path.write_bytes(data)
        with suppress(StrettoError):
            return READERS[name](path)
    return None


@pytest.mark.parametrize("name", READERS)
def test_the_examples_are_read(name: str) -> None:
    assert read(name, GOOD[name].encode()) is not None


@pytest.mark.parametrize("name", READERS)
@given(data=st.binary(max_size=300))
def test_random_bytes_are_answered(name: str, data: bytes) -> None:
    read(name, data)


@pytest.mark.parametrize("name", READERS)
@given(
    at=st.integers(0, 300),
    cut=st.integers(0, 40),
    piece=st.one_of(
        st.binary(max_size=8),
        st.sampled_from(
            [b",", b"\n", b'"', b"-1", b"1e9", b"9" * 30, b"\0", b"\xff", b": ", b"[", b"{", b"&a"]
        ),
    ),
)
def test_mangled_files_are_answered(name: str, at: int, cut: int, piece: bytes) -> None:
    good = GOOD[name].encode()
    read(name, good[:at] + piece + good[at + cut :])


ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 40),
    st.sampled_from([2**31, 2**63, -(2**63), 1.5, -0.5, 1e300]),
    st.sampled_from(["", "a", "bundled", "1", "500m", "8cpu-32gib:3", "T4", "all", "x.csv", "%"]),
    st.lists(st.integers(0, 3), max_size=2),
    st.dictionaries(st.sampled_from(["a", "at", "b/c", ""]), st.integers(0, 3), max_size=2),
)


def mapping(kind: Any, **inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """A mapping with keys of a struct and values that are mostly wrong."""
    keys = {name: inner.get(name, ODD) for name in kind.__struct_encode_fields__}
    return st.fixed_dictionaries({}, optional=keys)


_HINTS = get_type_hints(file_type({}))
(_WORKLOAD, _) = get_args(_HINTS["workloads"])

SCENARIOS = mapping(
    ScenarioFile,
    fleet=st.one_of(
        st.just({"like": "8cpu-32gib:3"}),
        mapping(_HINTS["fleet"], shapes=st.lists(mapping(NodeShapeSpec), max_size=2)),
    ),
    workloads=st.lists(
        mapping(
            _WORKLOAD,
            pods=mapping(PodsSpec),
            synthetic=mapping(SyntheticPods),
            arrival=mapping(ArrivalSpec),
        ),
        max_size=2,
    ),
)


@given(SCENARIOS)
def test_scenarios_with_odd_values_are_answered(scenario: dict[str, Any]) -> None:
    read("scenario", yaml.safe_dump(scenario).encode())


@given(kind=st.sampled_from(list(PodsSpec.__struct_encode_fields__)), value=ODD)
def test_pods_with_one_odd_value_are_answered(kind: str, value: object) -> None:
    scenario = {"fleet": {"like": "8cpu-32gib:3"}, "workloads": [{"pods": {kind: value}}]}
    read("scenario", yaml.safe_dump(scenario).encode())


@given(st.text(max_size=40))
def test_a_shape_is_read_or_refused(text: str) -> None:
    with suppress(StrettoError):
        nodes_like(text)
