"""What is made for Linux: the files every package shares, and the packages."""
