"""HTTP to an API server: connections, retries, bounded lanes and watch streams."""
