"""Replaces secrets in what a request holds, before it is shown to somebody who need not know them.

Secrets are recognised by the names of headers, parameters, fields, members, elements and files, everything below such
a name included; in texts also by their form (`secret.py`, `in_text.py`). Signatures stay: they prove who sent the
request, and reveal no key.
"""
