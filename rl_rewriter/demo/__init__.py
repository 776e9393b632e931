"""The bundled corpus and the demo that trains on it."""
