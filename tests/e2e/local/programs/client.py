"""The Python client over an API server: it prints what it saw as one line of JSON."""

import json
import sys

from kubernetes import client, config, watch
from kubernetes.client.rest import ApiException

NAMESPACE = "python-client"


def config_map(name: str, **data: str) -> dict:
    head = {"name": name, "labels": {"of": NAMESPACE}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": head, "data": data}


def names(api: client.CoreV1Api) -> list[str]:
    """The ConfigMaps, read in pages of two."""
    found, more = [], None
    while more != "":
        page = api.list_namespaced_config_map(
            NAMESPACE, label_selector=f"of={NAMESPACE}", limit=2, _continue=more
        )
        found += [each.metadata.name for each in page.items]
        more = page.metadata._continue or ""
    return found


def changes(api: client.CoreV1Api, version: str, count: int) -> list[list[str]]:
    """The first changes after a version."""
    seen, stream = [], watch.Watch()
    listing = api.list_namespaced_config_map
    options = {"label_selector": f"of={NAMESPACE}", "timeout_seconds": 20}
    for event in stream.stream(listing, NAMESPACE, resource_version=version, **options):
        seen.append([event["type"], event["object"].metadata.name])
        if len(seen) == count:
            stream.stop()
    return seen


def apply(api: client.CoreV1Api, manager: str, value: str) -> int:
    """Apply a value on the server; the status of the answer."""
    options = {"field_manager": manager, "_content_type": "application/apply-patch+yaml"}
    try:
        body = config_map("b", applied=value)
        api.patch_namespaced_config_map("b", NAMESPACE, body, **options)
    except ApiException as error:
        return error.status
    return 200


def main(kubeconfig: str) -> None:
    config.load_kube_config(kubeconfig)
    api = client.CoreV1Api()
    api.create_namespace({"metadata": {"name": NAMESPACE}})
    for name in "abc":
        api.create_namespaced_config_map(NAMESPACE, config_map(name, key="1"))
    listed = names(api)
    version = api.list_namespaced_config_map(NAMESPACE).metadata.resource_version
    api.patch_namespaced_config_map("a", NAMESPACE, {"data": {"key": "2"}})
    api.create_namespaced_config_map(NAMESPACE, config_map("d"))
    first = changes(api, version, 1)
    patched = api.read_namespaced_config_map("a", NAMESPACE)
    again = changes(api, patched.metadata.resource_version, 1)
    applied = [apply(api, "one", "3"), apply(api, "two", "4"), apply(api, "one", "5")]
    api.delete_namespaced_config_map("a", NAMESPACE)
    try:
        api.read_namespaced_config_map("a", NAMESPACE)
        gone = 200
    except ApiException as error:
        gone = error.status
    seen = {"listed": listed, "watched": first + again, "patched": patched.data["key"]}
    print(json.dumps({**seen, "applied": applied, "gone": gone}))


main(sys.argv[1])
