// The TypeScript client over an API server: it prints what it saw as one line of JSON.
import * as k8s from "@kubernetes/client-node";

const namespace = "typescript-client";
const labelSelector = `of=${namespace}`;

function configMap(name: string, data: Record<string, string> = {}): k8s.V1ConfigMap {
  const metadata = { name, labels: { of: namespace } };
  return { apiVersion: "v1", kind: "ConfigMap", metadata, data };
}

async function status(call: Promise<unknown>): Promise<number> {
  try {
    await call;
    return 200;
  } catch (error) {
    return (error as { code: number }).code;
  }
}

async function names(api: k8s.CoreV1Api): Promise<string[]> {
  const found: string[] = [];
  let more: string | undefined;
  do {
    const page = await api.listNamespacedConfigMap({ namespace, labelSelector, limit: 2, _continue: more });
    found.push(...page.items.map((each) => each.metadata!.name!));
    more = page.metadata?._continue || undefined;
  } while (more);
  return found;
}

async function firstChange(config: k8s.KubeConfig, resourceVersion: string): Promise<string[]> {
  const path = `/api/v1/namespaces/${namespace}/configmaps`;
  return new Promise((resolve, reject) => {
    let seen: string[] | undefined;
    const query = { labelSelector, resourceVersion, timeoutSeconds: 20 };
    new k8s.Watch(config)
      .watch(
        path,
        query,
        (type, object) => (seen ??= [type, object.metadata.name]) && resolve(seen),
        (error) => reject(error ?? new Error("the watch ended")),
      )
      .catch(reject);
  });
}

async function main(kubeconfig: string): Promise<void> {
  const config = new k8s.KubeConfig();
  config.loadFromFile(kubeconfig);
  const api = config.makeApiClient(k8s.CoreV1Api);
  await api.createNamespace({ body: { metadata: { name: namespace } } });
  for (const name of "abc") {
    await api.createNamespacedConfigMap({ namespace, body: configMap(name, { key: "1" }) });
  }
  const listed = await names(api);
  const version = (await api.listNamespacedConfigMap({ namespace })).metadata!.resourceVersion!;
  const merge = k8s.setHeaderOptions("Content-Type", k8s.PatchStrategy.MergePatch);
  const patched = await api.patchNamespacedConfigMap(
    { name: "a", namespace, body: { data: { key: "2" } } },
    merge,
  );
  await api.createNamespacedConfigMap({ namespace, body: configMap("d") });
  const first = await firstChange(config, version);
  const again = await firstChange(config, patched.metadata!.resourceVersion!);
  const apply = (fieldManager: string, applied: string): Promise<number> =>
    status(
      api.patchNamespacedConfigMap(
        { name: "b", namespace, fieldManager, body: configMap("b", { applied }) },
        k8s.setHeaderOptions("Content-Type", k8s.PatchStrategy.ServerSideApply),
      ),
    );
  const applied = [await apply("one", "3"), await apply("two", "4"), await apply("one", "5")];
  await api.deleteNamespacedConfigMap({ name: "a", namespace });
  const gone = await status(api.readNamespacedConfigMap({ name: "a", namespace }));
  const seen = { listed, watched: [first, again], patched: patched.data!.key };
  console.log(JSON.stringify({ ...seen, applied, gone }));
  process.exit(0);
}

main(process.argv[2]).catch((error) => {
  console.error(error);
  process.exit(1);
});
