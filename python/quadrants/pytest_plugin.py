"""Plugin of pytest, found by its entry point: when pytest-cov measures, lines that run inside kernels are measured too.

It sets QD_KERNEL_COVERAGE (and `_QD_KCOV_ARC` for branches) unless the variable is set already: `QD_KERNEL_COVERAGE=0`
keeps it off. What kernels reached, in this process and in those that tests start, becomes a data file beside the one of
pytest-cov, which combines all of them at the end.
"""

import glob
import os
from collections.abc import Generator
from typing import Any

import pytest

_VARIABLES = ("QD_KERNEL_COVERAGE", "_QD_KCOV_ARC")


def _coverage_of(config: Any) -> Any:
    """The Coverage object of pytest-cov, or None when it isn't there or measures nothing."""
    plugin = config.pluginmanager.getplugin("_cov")
    controller = getattr(plugin, "cov_controller", None)
    return getattr(controller, "cov", None)


def _wanted(config: Any) -> bool:
    option = config.option
    return bool(getattr(option, "cov_source", None)) and not getattr(option, "no_cov", False)


def pytest_configure(config: Any) -> None:
    """Switches kernel coverage on for the session, and for the processes that its tests start."""
    if not _wanted(config) or os.environ.get("QD_KERNEL_COVERAGE"):
        return
    cov = _coverage_of(config)
    branches = bool(getattr(config.option, "cov_branch", False)) or bool(cov and cov.get_option("run:branch"))
    os.environ["QD_KERNEL_COVERAGE"] = "1"
    if branches:
        os.environ["_QD_KCOV_ARC"] = "1"
    config._quadrants_coverage = True


def pytest_unconfigure(config: Any) -> None:
    """Takes back what `pytest_configure` set."""
    if getattr(config, "_quadrants_coverage", False):
        for name in _VARIABLES:
            os.environ.pop(name, None)


@pytest.hookimpl(hookwrapper=True, trylast=True)
def pytest_runtestloop(session: Any) -> Generator[None, Any, None]:
    """Runs inside of pytest-cov's own wrapper: the file is there when that combines."""
    config = session.config
    old = set(_files(config)) if _measures(config) else set()
    yield
    if _measures(config):
        _merge(config, old)


def _measures(config: Any) -> bool:
    return _wanted(config) and os.environ.get("QD_KERNEL_COVERAGE", "0") not in ("", "0")


def _files(config: Any) -> list[str]:
    """Files of processes that tests started. Only the main process of pytest-xdist looks for them."""
    from quadrants.lang.kernel_coverage import FILE

    if hasattr(config, "workerinput"):
        return []
    folders = {os.getcwd(), str(config.rootpath)}
    return sorted(path for folder in folders for path in glob.glob(os.path.join(glob.escape(folder), FILE + "*")))


def _merge(config: Any, old: set[str]) -> None:
    from quadrants.lang import impl, kernel_coverage

    cov = _coverage_of(config)
    if cov is None:
        return
    from coverage import CoverageData

    impl.get_runtime().collect_coverage()
    hits = kernel_coverage.hand_over()
    children = [path for path in _files(config) if path not in old]
    if not hits and not children:
        return
    data = CoverageData(basename=cov.get_option("run:data_file"), suffix=f"quadrants.{os.getpid()}")
    kernel_coverage.add_to(data, hits, bool(cov.get_option("run:branch")))
    for path in children:
        child = CoverageData(basename=path)
        child.read()
        data.update(child)
        os.unlink(path)
    data.write()
