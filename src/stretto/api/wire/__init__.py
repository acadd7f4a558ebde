"""The wire format: metadata, kinds, quantities, selectors, names and size limits."""
