"""What Hookline talks about: records, rules, settings, events and errors, free of Qt and of I/O."""
