"""The store: `sqlite` is the engine, `search` what a search asks of a request; the modules beside them need neither."""
