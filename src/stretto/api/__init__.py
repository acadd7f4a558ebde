"""The wire: Kubernetes' and Gödel's types as frozen structs, and their codec.

Lives here: metadata, core, workload, scheduling and node types, the typed head
of a pod, quantities, selectors, patches, and the way to and from JSON and YAML.
Must not: do any I/O, hold mutable state, know a store or a scheduler. Imports
only `base`. A field that we do not know survives a write: never drop raw bytes.
"""
