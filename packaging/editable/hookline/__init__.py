"""Stands in for `hookline` where a checkout is installed as editable: with the checkout's own folder on the path, its
other packages would be found too, above all `app`."""

import os.path

__path__ = [os.path.join(os.path.abspath(__file__ + "/../../../.."), "hookline")]
