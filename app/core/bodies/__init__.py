"""Turns bodies into lines of styled text. The stored record is never changed.

Each format is a file in `formats`; its views say how well they fit, and `format_registry` picks the best. `body_reader`
leads from the bytes as sent through content coding and charset to lines, in bounded steps.
"""
