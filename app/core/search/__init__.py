"""The search language: words and filters, parsed into frozen records with their place in the text.

Nothing here knows how requests are stored; `app/db/search` turns a `Query` into statements.
"""
