"""The store: peewee tables, migrations, the writer thread, readers and retention. Imports core only."""
