"""Bodies made readable: bytes become lines of styled text. Pure; the record itself is never changed.

One format, one file: a view says how well it fits, the best wins (`choice.py`), and `reading.py` runs the way from
bytes as sent over content coding and charset to lines, in bounded steps.
"""
