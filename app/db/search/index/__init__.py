"""The search index, which leaves out requests that cannot match: what it holds of each request, and how it is asked."""
