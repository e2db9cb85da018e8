"""`python -m quadrants backends`: every plugin that was looked at, and why one cannot be used. `... cache`: cache_command.py."""

import sys

from quadrants import _native
from quadrants.lang import config, misc

USAGE = """usage: python -m quadrants COMMAND

  backends        the plugins that were found, which of them work here, and what to do about the others
  cache           info, list, verify, clean, path, explain, export, import: the cache of compiled code; see cache -h
"""


def backends() -> int:
    """Prints the survey of plugins; 0 when one is usable, else 1."""
    archs = ["cpu", "cuda", "amdgpu", "vulkan", "metal", "reference", "null", "checked"]
    survey = _native.survey_plugins(config.context_config(config.defaults(), archs, misc.plugin_dir()))
    heading = ("arch", "usable", "name", "version", "build", "abi", "source", "path")
    rows = [heading]
    for row in survey:
        usable = "yes" if row["usable"] else "no"
        rows.append(
            (
                row["arch"],
                usable,
                row["name"],
                row["version"],
                row["build_id"][:8],
                row["abi"],
                row["source"],
                row["path"],
            )
        )
    widths = [max(len(row[k]) for row in rows) for k in range(len(heading))]
    for line in rows:
        print("  ".join(map(str.ljust, line, widths)).rstrip())
    for row in survey:
        if not row["usable"]:
            print(f"\n{row['arch']}: {row['step']}: {row['reason']}\n  {row['path']}\n  remedy: {row['remedy']}")
    return 0 if any(row["usable"] for row in survey) else 1


def main(arguments: list[str]) -> int:
    """Runs a command; 2 for wrong usage."""
    if arguments == ["backends"]:
        return backends()
    if arguments[:1] == ["cache"]:
        from quadrants import cache_command

        return cache_command.main(arguments[1:])
    print(USAGE, end="", file=sys.stderr)
    return 0 if arguments in (["-h"], ["--help"]) else 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
