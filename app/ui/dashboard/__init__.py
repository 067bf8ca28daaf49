"""The dashboard: all endpoints, the plan, storage and the session's counts on one page."""
