"""What other programs import of Hookline: `hookline.client` for its local API, and a fixture for pytest.

Nothing here imports the program itself, the package `app`: many programs have a package of that name.
"""
