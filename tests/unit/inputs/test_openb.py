"""openb lists: what is read, and what is refused in which words."""

from pathlib import Path

import pytest

from stretto.base.errors import InputError
from stretto.inputs.neutral.fleet import FleetNode, FleetPod
from stretto.inputs.traces.openb.reader import load_nodes, load_openb, load_pods

NODES = "sn,cpu_milli,memory_mib,gpu,model"
PODS = "name,cpu_milli,memory_mib,num_gpu,gpu_milli"
FULL = PODS + ",gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time"


def write(folder: Path, *lines: str) -> Path:
    path = folder / "list.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def refused_nodes(folder: Path, *lines: str) -> str:
    with pytest.raises(InputError) as caught:
        load_nodes(write(folder, *lines))
    return str(caught.value).removeprefix(f"{folder}/")


def refused_pods(folder: Path, *lines: str) -> str:
    with pytest.raises(InputError) as caught:
        load_pods(write(folder, *lines), {"T4", "P100", "V100M16"})
    return str(caught.value).removeprefix(f"{folder}/")


def test_a_node_list_is_read(tmp_path: Path) -> None:
    nodes = load_nodes(write(tmp_path, NODES, "n-0,64000,262144,2,P100", "n-1,32000,65536,0,"))
    assert nodes[0] == FleetNode("n-0", 64000, 262144, 2, "P100")
    assert nodes[1] == FleetNode("n-1", 32000, 65536)


def test_a_pod_list_of_five_columns_is_read(tmp_path: Path) -> None:
    pods = load_pods(write(tmp_path, PODS, "p-0,12000,16384,1,460"))
    assert pods == (FleetPod("p-0", 12000, 16384, 1, 460),)


def test_a_pod_list_of_eleven_columns_is_read(tmp_path: Path) -> None:
    (pod,) = load_pods(write(tmp_path, FULL, "p,6000,12288,1,1000,T4|P100,LS,Running,5,9,7"))
    assert (pod.gpu_models, pod.qos, pod.arrival_s, pod.departure_s) == (("T4", "P100"), "LS", 5, 9)
    assert pod.extra == {"pod_phase": "Running", "scheduled_time": "7"}


def test_columns_may_stand_in_another_order(tmp_path: Path) -> None:
    header = "gpu_milli,num_gpu,memory_mib,cpu_milli,name"
    assert load_pods(write(tmp_path, header, "460,1,3,2,p"))[0] == FleetPod("p", 2, 3, 1, 460)


def test_blank_lines_and_windows_line_ends_are_no_fault(tmp_path: Path) -> None:
    assert len(load_pods(write(tmp_path, PODS + "\r", "\r", "p,1,2,0,0\r", "", "  "))) == 1


def test_a_missing_column_is_named(tmp_path: Path) -> None:
    assert refused_pods(tmp_path, "name,cpu_milli,num_gpu,gpu_milli", "p,1,0,0") == (
        "list.csv, line 1: got nothing, expected the missing column memory_mib; add the column"
    )


def test_a_doubled_column_is_named(tmp_path: Path) -> None:
    assert refused_nodes(tmp_path, NODES + ",gpu", "n,1,1,0,,0") == (
        "list.csv, line 1: got 'gpu', expected each column once; drop one of the two"
    )


def test_an_unknown_column_is_answered_with_the_nearest(tmp_path: Path) -> None:
    assert refused_pods(tmp_path, PODS.replace("gpu_milli", "gpu_mili"), "p,1,1,0,0") == (
        "list.csv, line 1: got 'gpu_mili', expected a known column; did you mean 'gpu_milli'?"
    )


@pytest.mark.parametrize("value", ["-5", "1.5", "1e3", "", "many", " 7", "99999999999999999999"])
def test_a_quantity_that_is_no_sane_integer_is_refused(tmp_path: Path, value: str) -> None:
    assert refused_pods(tmp_path, PODS, "p,1,1,0,0", f"q,{value},1,0,0") == (
        f"list.csv, line 3, column cpu_milli: got {value!r}, "
        "expected an integer 0..10000000; fix the row or drop it"
    )


def test_an_absurd_memory_is_refused(tmp_path: Path) -> None:
    assert refused_nodes(tmp_path, NODES, "n,1000,2000000000,0,") == (
        "list.csv, line 2, column memory_mib: got '2000000000', "
        "expected an integer 1..1073741824; fix the row or drop it"
    )


@pytest.mark.parametrize(
    ("num_gpu", "gpu_milli", "expected"),
    [
        ("1", "1500", "an integer 1..1000"),
        ("1", "0", "an integer 1..1000"),
        ("0", "500", "0, since num_gpu is 0"),
        ("2", "500", "1000, since only a pod with num_gpu 1 may share"),
    ],
)
def test_the_rules_of_gpu_shares_hold(
    tmp_path: Path, num_gpu: str, gpu_milli: str, expected: str
) -> None:
    assert refused_pods(tmp_path, PODS, f"p,1,1,{num_gpu},{gpu_milli}") == (
        f"list.csv, line 2, column gpu_milli: got {gpu_milli!r}, "
        f"expected {expected}; fix the row or drop it"
    )


def test_a_model_that_no_node_has_is_answered_with_the_nearest(tmp_path: Path) -> None:
    assert refused_pods(tmp_path, FULL, "p,1,1,1,1000,T4|V100M61,LS,Running,5,9,7") == (
        "list.csv, line 2, column gpu_spec: got 'T4|V100M61', "
        "expected GPU models of the fleet (P100, T4, V100M16); did you mean 'V100M16'?"
    )


def test_a_name_used_twice_is_refused(tmp_path: Path) -> None:
    assert refused_nodes(tmp_path, NODES, "n,1,1,0,", "m,1,1,0,", "n,1,1,0,") == (
        "list.csv, line 4, column sn: got 'n', "
        "expected a unique name (line 2 has it already); rename one"
    )


def test_a_row_of_another_width_is_refused(tmp_path: Path) -> None:
    assert refused_pods(tmp_path, PODS, "p,1,1,0") == (
        "list.csv, line 2: got 4, expected 5 cells, as in the header; fix the row or drop it"
    )


def test_gpus_need_a_model_and_a_model_needs_gpus(tmp_path: Path) -> None:
    assert "expected the model of the node's GPUs" in refused_nodes(tmp_path, NODES, "n,1,1,2,")
    assert "since the node has no GPU" in refused_nodes(tmp_path, NODES, "n,1,1,0,T4")


def test_a_pod_cannot_end_before_its_creation(tmp_path: Path) -> None:
    assert refused_pods(tmp_path, FULL, "p,1,1,0,0,,LS,Running,9,5,9") == (
        "list.csv, line 2, column deletion_time: got '5', "
        "expected a time not before creation_time 9; fix the row or drop it"
    )


def test_a_list_without_nodes_is_refused(tmp_path: Path) -> None:
    assert "expected at least one node" in refused_nodes(tmp_path, NODES)


def test_an_open_quote_is_refused(tmp_path: Path) -> None:
    assert "expected well-formed CSV" in refused_pods(tmp_path, PODS, '"p,1,1,0,0')


def test_the_line_is_right_behind_a_quoted_line_break(tmp_path: Path) -> None:
    message = refused_pods(tmp_path, FULL, 'p,1,1,0,0,,LS,"a\nb",1,2,', "q,x,1,0,0,,LS,a,1,2,")
    assert message.startswith("list.csv, line 4, column cpu_milli: got 'x'")


@pytest.mark.parametrize(
    ("name", "count"),
    [("default", 8152), ("cpu100", 7853), ("gpuspec33", 8152), ("multigpu50", 9061)],
)
def test_the_published_lists_are_read(shared_data: Path, name: str, count: int) -> None:
    folder = shared_data / "openb"
    fleet = load_openb(
        folder / "openb_node_list_gpu_node.csv", folder / f"openb_pod_list_{name}.csv"
    )
    assert (len(fleet.nodes), fleet.gpu_milli, len(fleet.pods)) == (1213, 6_212_000, count)
