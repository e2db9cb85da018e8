"""Context, Buffer and Executable: configuration, copies, interruption."""

import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from handmade import build
from quadrants import _native as n
from quadrants.lang.exception import QuadrantsRuntimeError


def test_facts(context):
    assert context.arch == "reference" and context.host_shared and context.device_name
    executable = build(context, n.i32)
    assert executable.n_words == 5 and executable.n_tasks >= 1
    assert {"tasks_total", "tasks_hit", "tasks_recompiled", "codegen_ms", "whole_kernel_reason"} <= set(
        executable.observations
    )


@pytest.mark.parametrize(
    "config, error, message",
    [({"archs": ["reference"], "colour": 1}, KeyError, "no field 'colour'"), ({"archs": 5}, ValueError, "'archs' can't be"),
     ({"archs": ["reference"], "cache_max_bytes": -1}, ValueError, "'cache_max_bytes' can't be"), (5, TypeError, "expected a dict")],
)  # fmt: skip
def test_bad_configuration(config, error, message):
    with pytest.raises(error, match=message):
        n.Context(config)


def test_unknown_arch_is_refused():
    with pytest.raises(QuadrantsRuntimeError, match="abacus"):
        n.Context({"archs": ["abacus"], "plugin_dir": "/nonexistent"})


def test_buffers(context):
    b = context.alloc(100)
    assert b.size == 100 and b.address and bytes(b) == bytes(100)
    b.copy_in(10, b"hello")
    assert bytes(b)[10:15] == b"hello"
    out = bytearray(5)
    b.copy_out(10, out)
    assert out == b"hello"
    b.fill(0, 8, 0x0102, 2)
    assert bytes(b)[:10] == b"\2\1" * 4 + b"\0\0"
    view = np.frombuffer(b, np.uint8)
    view[99] = 7
    del b
    assert view[99] == 7  # the view keeps the memory
    for offset, size in [(96, 5), (101, 0), (2**63, 8)]:
        with pytest.raises(ValueError, match="of a buffer of 100"):
            context.alloc(100).copy_in(offset, bytes(size))
    with pytest.raises(BufferError):
        context.alloc(4).copy_out(0, b"read-only")
    strided = np.zeros(8, np.uint8)[::2]
    with pytest.raises((BufferError, ValueError)):
        context.alloc(4).copy_in(0, strided)


def test_a_builder_is_compiled_once(context):
    b = n.Builder("k", n.i32, n.f32, True, False)
    context.compile(b)
    with pytest.raises(QuadrantsRuntimeError, match="compiled already"):
        context.compile(b)
    with pytest.raises(QuadrantsRuntimeError, match="compiled already"):
        b.const(1)
    with pytest.raises(TypeError, match="expected a Builder"):
        context.compile(5)


def test_a_closed_context_says_so():
    plugins = os.path.join(os.path.dirname(n.__file__), "plugins")
    c = n.Context({"archs": ["reference"], "plugin_dir": plugins, "offline_cache": False})
    c.close()
    c.close()
    for use in (c.sync, lambda: c.alloc(4), lambda: c.compile(n.Builder("k", n.i32, n.f32, True, False))):
        with pytest.raises(QuadrantsRuntimeError, match="reset"):
            use()


def test_log_levels():
    with pytest.raises(ValueError, match="no log level 'loud'"):
        n.set_log_level("loud")


def test_many_unused_contexts_leave_nothing(context):
    program = """
        import os
        from quadrants import _native as n
        plugins = os.path.join(os.path.dirname(n.__file__), "plugins")
        for _ in range(20):
            c = n.Context({"archs": ["reference"], "plugin_dir": plugins, "offline_cache": False})
            b = n.Builder("k", n.i32, n.f32, True, False)
            b.output(0, 1)
            c.compile(b)
            c.close()
        print("alive")
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], check=False, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0 and done.stdout.endswith("alive\n"), done.stderr
