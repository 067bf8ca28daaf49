"""The request list: a window of loaded rows kept small, fed live, painted by its own delegate."""
