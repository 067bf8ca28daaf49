"""The QR code of a capture URL."""
