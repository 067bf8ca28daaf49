"""`python -m benchmarks.fuzz`: seeded valid and mutated requests against the program, and what must hold then."""
