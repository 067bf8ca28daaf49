"""One request in full: its body in the view that fits, its headers, query, mirroring and facts."""
