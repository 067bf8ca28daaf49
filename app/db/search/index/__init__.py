"""What leaves out requests that a search need not look at: tables beside the store, made anew at any time."""
