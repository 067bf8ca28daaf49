"""The network: the capture port, forwarding and the local API. Imports core only."""
