"""The scenario file: schema, reading, and the objects and arrivals that it generates."""
