"""The class-cached engine: score rows per class, kept up to date from the change log."""
