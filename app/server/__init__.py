"""The network: the capture port, mirroring and the local API. Imports core only."""
