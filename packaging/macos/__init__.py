"""What is made for macOS: the disk image."""
