"""Content codings and charsets."""
