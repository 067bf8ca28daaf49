"""The command line. Imports core only."""
