"""The parts of a multipart body as cards."""
