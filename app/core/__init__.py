"""The domain: records, rules, settings, events and errors, without Qt and I/O."""
