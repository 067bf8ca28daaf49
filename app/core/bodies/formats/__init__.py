"""One body format per file, with the readers it needs."""
