"""Pod security standards: levels of namespaces, and what a pod does that a level does not allow."""
