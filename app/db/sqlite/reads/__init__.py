"""What several parts of the store read, and the threads that read."""
