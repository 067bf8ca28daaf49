"""The store in PostgreSQL."""

import sys

if sys.modules.get("psycopg", sys) is None:  # hidden by `app.start`, for those who need none of it
    del sys.modules["psycopg"]
