"""Classes compiled to arrays: what the kernels read instead of objects."""
