"""`hookline selftest`: tries the real program on a folder of its own."""
