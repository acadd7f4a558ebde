"""Format-independent parts of every input: files, tables, strict checks, workload shapes."""
