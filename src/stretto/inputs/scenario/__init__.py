"""The scenario file: its schema, how it is read, and the workload it generates."""
