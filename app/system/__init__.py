"""What the operating system and the installation are asked."""
