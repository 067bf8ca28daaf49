"""The About dialog and the licences."""
