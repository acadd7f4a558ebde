"""Units that wait for an event, a back-off or a gang member instead of their turn."""
