"""``stretto up`` as Helm and client libraries use it."""
