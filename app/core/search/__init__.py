"""The search language: words and filters, parsed into frozen records with their place in the text.

`app/db/search` runs a `Query`.
"""
