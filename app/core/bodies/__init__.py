"""Turns bodies into lines of styled text. The stored record is never changed.

Each format is a file in `formats`; its views say how well they fit, and `format_registry` picks the best. `body_reader`
removes content codings, decodes the charset and formats lines, in bounded steps.
"""
