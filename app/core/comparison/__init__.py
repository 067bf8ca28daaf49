"""Compares the responses of two targets to one request. The work is bounded."""
