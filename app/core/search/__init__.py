"""The search language: words and filters, parsed into frozen records with their place in the text. Also the text of a
request as people read it, which is searched besides the text as sent, and how views find the words again.

`app/db/search` runs a `Query`.
"""
