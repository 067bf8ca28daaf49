"""The store in PostgreSQL. Importing it raises StoreDriverError where its driver is not installed: few have it."""

import sys

from app.core.errors import StoreDriverError

if sys.modules.get("psycopg", sys) is None:  # hidden by `app.start`, for those who need none of it
    del sys.modules["psycopg"]
try:
    import psycopg  # noqa: F401 - whether it can be loaded
except ImportError as error:
    raise StoreDriverError from error
