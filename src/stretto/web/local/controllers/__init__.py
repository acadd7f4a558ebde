"""Controllers of a local cluster over its own API: nodes, namespaces and deletions."""
