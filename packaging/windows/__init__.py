"""What is made for Windows: the installer."""
