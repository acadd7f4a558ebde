"""Forms of ``simulate`` and ``compare``: traces with times, and recordings."""
