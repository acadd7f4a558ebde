"""The defaults of a pod, in the order of the API server."""

from stretto.api.admission import limits, priority, runtime, tolerations
from stretto.api.admission.defaults import default_host_ports, default_pod_spec
from stretto.api.admission.request import AdmissionRequest, JsonObject, ObjectView, Operation
from stretto.api.admission.resources import default_requests
from stretto.api.admission.selectors import merge_label_keys
from stretto.api.admission.workloads import title_of
from stretto.base.errors import InputError


def default_pod(request: AdmissionRequest, pod: JsonObject, view: ObjectView) -> None:
    """Set all defaults of a pod, in the order of the API server."""
    spec = pod.get("spec")
    if not isinstance(spec, dict):
        raise InputError(f"{title_of(request, pod)}: spec", spec, "the spec of a pod")
    default_pod_spec(spec)
    default_requests(spec)
    if spec.get("hostNetwork"):
        default_host_ports(spec)
    if request.operation is Operation.UPDATE:
        return
    limits.default_pod(request, pod, view)
    priority.set_priority(request, pod, view)
    tolerations.add_default_seconds(spec)
    runtime.apply_runtime_class(request, pod, view)
    runtime.check_overhead(request, pod, view)
    merge_label_keys(pod)
    pod.setdefault("status", {}).setdefault("phase", "Pending")
