"""The language of searches: words and filters, read into frozen records with the place of each in the text.

Nothing here knows how requests are stored; `app/db` turns a `Query` into statements.
"""
