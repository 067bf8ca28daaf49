"""The targets of an endpoint: their dialog, their words, and pausing them."""
