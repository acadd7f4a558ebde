"""Parts of commands: options and drivers that several commands share, or one form of a command."""
