"""Watch events into columns: what each added, changed or deleted object means for the cluster."""
