"""One cycle: candidates, guarantees, surplus, inverse offers."""
