"""`python -m benchmarks.soak`: the program with its window under a steady mix of all it does, for half an hour."""
