"""The class-cached engine: score rows per class, updated from the change log."""
