"""The deliveries of the open request: their attempts as a timeline, and what was sent and received."""
