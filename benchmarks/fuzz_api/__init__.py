"""schemathesis against the local API of a running Hookline: is it as its document says, whatever it is sent?"""
