"""Objects of a fresh server besides namespaces and rights, and their conditions."""
