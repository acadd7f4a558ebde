"""The dashboard: pages over one source of views, without external requests."""
