"""Describes a request in a few words for lists: `JSON · id, type, data`, `PNG 640×400`, `form · a, b`."""
