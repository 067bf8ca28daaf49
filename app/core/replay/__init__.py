"""Replaying requests: what is sent where, in which order and when, and the report on it. Nothing here sends."""
