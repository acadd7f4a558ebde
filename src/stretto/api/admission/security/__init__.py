"""Pod security standards: levels of namespaces, and violations of a level by a pod."""
