"""The thread that writes, and what it watches."""
