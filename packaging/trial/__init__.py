"""Tries the packages on a system without Python, and measures them."""
