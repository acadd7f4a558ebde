"""One module for each command; a command imports its dependencies when it runs."""
