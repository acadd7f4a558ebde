"""Objects of a new server besides namespaces and rights, and their conditions."""
