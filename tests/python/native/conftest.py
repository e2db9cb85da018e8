"""A context on the oracle backend: the native module without the front end."""

import os

import pytest

from quadrants import _native as n


@pytest.fixture(scope="module")
def context():
    plugins = os.path.join(os.path.dirname(n.__file__), "plugins")
    c = n.Context({"archs": ["reference"], "plugin_dir": plugins, "offline_cache": False})
    yield c
    c.close()
