"""The local API: everything the window can do, for scripts, on a loopback port of its own, with a token."""
