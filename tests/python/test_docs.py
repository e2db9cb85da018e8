"""Every ```python block of the documentation runs, on the CPU: the blocks of a page in order, as one program whose
line numbers are those of the page. Links between pages lead somewhere."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from program_text import child_environment

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
FENCE = re.compile(r"^```(\w*)\s*$")


def program(text: str) -> str:
    """The Python blocks of a page; every other line is empty, so that an error names the page's line."""
    lines, language = [], None
    for line in text.splitlines():
        fence = FENCE.match(line)
        if fence:
            language = None if language is not None else fence[1]
            lines.append("")
        else:
            lines.append(line if language == "python" else "")
    return "\n".join(lines) + "\n"


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


WITH_CODE = [page for page in PAGES if program(page.read_text()).strip()]


def test_there_is_code():
    assert {"README.md", "docs/language.md", "docs/getting_started.md"} <= set(map(name_of, WITH_CODE))


@pytest.mark.parametrize("page", WITH_CODE, ids=name_of)
def test_page_runs(page, tmp_path):
    script = tmp_path / page.with_suffix(".py").name
    script.write_text(program(page.read_text()))
    environment = child_environment(XDG_CACHE_HOME=str(tmp_path), PYTHONWARNINGS="error::SyntaxWarning")
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, env=environment, timeout=120, cwd=tmp_path
    )
    assert done.returncode == 0, f"{name_of(page)}\n{done.stdout}{done.stderr}"


def test_a_broken_block_is_found(tmp_path):
    text = program("# Page\n\n```python\nx = 1\n```\ntext\n```\nnot run\n```\n```python\nassert x == 2\n```\n")
    assert text.splitlines()[10] == "assert x == 2" and "not run" not in text
    with pytest.raises(AssertionError):
        exec(text, {})  # noqa: S102


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", program_free(page.read_text())):
        if not re.match(r"[a-z]+:|#", target):
            assert (page.parent / target.split("#")[0]).exists(), f"{name_of(page)}: nothing at {target}"


def program_free(text: str) -> str:
    """A page without its code: blocks, indented lines, spans."""
    lines, inside = [], False
    for line in text.splitlines():
        if line.startswith("```"):
            inside = not inside
        elif not inside and not line.startswith("    "):
            lines.append(re.sub(r"`[^`]*`", "", line))
    return "\n".join(lines)
