"""`hookline selftest`: tests the real program on a folder of its own."""
