"""The page that shows all endpoints, the plan, the store and the ledger at a glance."""
