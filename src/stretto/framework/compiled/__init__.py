"""Classes compiled to arrays, which the kernels read instead of objects."""
