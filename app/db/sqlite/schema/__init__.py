"""The tables, and how older ones become these."""
