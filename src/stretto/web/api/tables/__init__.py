"""Tables as kubectl prints them: columns and cells of every kind."""
