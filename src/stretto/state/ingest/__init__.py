"""Translation of watch events into changes of the cluster columns."""
