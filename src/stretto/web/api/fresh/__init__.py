"""What a fresh server has besides namespaces and rights, and the conditions that it sets."""
