"""Rules of the core group: configuration, Services, volumes, nodes, namespaces, quotas, events."""
