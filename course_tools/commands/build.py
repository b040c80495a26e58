"""python3 -m course_tools build [NUMBER ...]: make every notebook from its source, run it, store it.

Give chapter numbers to build only those: `build 1 3`.
"""

import sys

from course_tools import environment, repository


def main(arguments):
    """Build all chapters, or those whose numbers are given."""
    wanted = {f"{argument:0>2}" for argument in arguments}
    chosen = [source for source in repository.sources() if not wanted or source.name[:2] in wanted]
    unknown = wanted - {source.name[:2] for source in chosen}
    if unknown:
        sys.exit(f"solutions/ has no chapter {', '.join(sorted(unknown))}. usage: build [NUMBER ...]")
    # with the tests' packages, so that no chapter installs any while its outputs are being stored
    environment.run_with_environment("build", arguments, "tests/requirements.txt")
    from course_tools.build.notebooks import build  # only now are all packages there

    build(chosen)
