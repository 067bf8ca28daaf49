"""The operating system and the installation."""
