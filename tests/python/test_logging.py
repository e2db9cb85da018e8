"""Log lines: levels from `qd.init`, the environment and `set_logging_level`, and what the front end writes."""

import pytest
from program_text import kernel_of, load

import quadrants as qd

LEVELS = ["trace", "debug", "info", "warn", "error", "critical"]


@pytest.fixture(autouse=True)
def level_of_before():
    yield
    qd.set_logging_level("info")


@pytest.mark.parametrize("level", LEVELS)
def test_levels(init, arch_name, level, monkeypatch, capfd):
    for way in ("keyword", "environment", "call"):
        qd.set_logging_level("critical")
        if way == "environment":
            monkeypatch.setenv("QD_LOG_LEVEL", level.upper())
            qd.init(arch=arch_name, offline_cache=False)
            monkeypatch.delenv("QD_LOG_LEVEL")
        elif way == "keyword":
            init(log_level=level)
        else:
            qd.set_logging_level(level)
        assert [qd.is_logging_effective(one) for one in LEVELS] == [k >= LEVELS.index(level) for k in range(6)], way
    capfd.readouterr()
    for one in LEVELS:
        getattr(qd._logging, one)("line {} of {what}", one, what="six")
    shown = capfd.readouterr().err
    assert [f"line {one} of six" in shown for one in LEVELS] == [qd.is_logging_effective(one) for one in LEVELS]


def test_constants_and_bad_levels():
    assert [qd.TRACE, qd.DEBUG, qd.INFO, qd.WARN, qd.ERROR, qd.CRITICAL] == LEVELS
    with pytest.raises(ValueError, match="unknown logging level 'loud'; accepted are trace"):
        qd.set_logging_level("loud")


def test_off(init, capfd):
    init(log_level="off")
    capfd.readouterr()
    qd._logging.critical("hidden")
    assert capfd.readouterr().err == "" and not qd.is_logging_effective("critical")


def test_names_of_compiles(init, monkeypatch, capfd):
    monkeypatch.setenv("QD_SHOW_COMPILING", "1")
    init(log_level="info", offline_cache=False)
    k = kernel_of("x", "x: qd.i32", "qd.i32")
    for _ in range(2):
        assert k(3) == 3
    assert capfd.readouterr().err.count("Compiling kernel 'k'") == 1


LOSSY = {
    "v = 1\n    v = 2.5": "Assign may lose precision: i32 <- f32",
    "v = 1\n    v = n": "Assign may lose precision: i32 <- i64",
    "v = 1\n    v = u": "Assign may lose precision: i32 <- u32",
    "v = 1.0\n    v = d": "Assign may lose precision: f32 <- f64",
    "v = 1\n    v += 1.5": "Atomic add may lose precision: i32 <- f32",
    "x[0] = d": "Assign may lose precision: f32 <- f64",
    "y[0] += 1.5": "Atomic add may lose precision: i32 <- f32",
    "w = qd.Vector([1, 2])\n    w[0] = 2.5": "Assign may lose precision: i32 <- f32",
    "w = qd.Vector([1, 2])\n    w = qd.Vector([1.5, 2.5])": "Assign may lose precision: i32 <- f32",
}
EXACT = [
    "v = 1.0\n    v = 2",
    "v: qd.i8 = 3\n    v = 4",
    "v = n\n    v = 3",
    "v = d\n    v = 2.5",
    "x[0] = 2.5",
    "v = 1\n    v = 2.0",
]


def compiled(statements):
    names = {"x": qd.field(qd.f32, 3), "y": qd.field(qd.i32, 3)}
    load(f"@qd.kernel\ndef k(n: qd.i64, u: qd.u32, d: qd.f64):\n    {statements}\n", **names)["k"](1, 2, 3.0)


@pytest.mark.parametrize("statements, text", LOSSY.items(), ids=LOSSY)
def test_lost_precision_is_said_once(init, statements, text, capfd):
    init(log_level="warn")
    compiled(statements)
    shown = capfd.readouterr().err
    assert shown.count("may lose precision") == 1 and text in shown and ", in k:" in shown and "^" in shown


@pytest.mark.parametrize("statements", EXACT, ids=EXACT)
def test_no_warning_where_nothing_is_lost(init, statements, capfd):
    init(log_level="warn")
    compiled(statements)
    assert "precision" not in capfd.readouterr().err
