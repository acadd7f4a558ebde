"""Conversion of objects between wire and store: decoding, rendering, preparation by kind."""
