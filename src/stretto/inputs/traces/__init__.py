"""Published traces, one reader for each format."""
