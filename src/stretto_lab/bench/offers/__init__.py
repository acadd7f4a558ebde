"""The bench of a master under load: frameworks and agents over HTTP."""
