"""Ask whether a locked package has a known vulnerability; say which, or that it could not be asked.

python3 -m tests.support.audit, with pip-audit installed and a network. The exit status is 0 for none, 1 for some, and 2
where not every package could be looked up: pip-audit itself then says "No known vulnerabilities found".
"""

import json
import subprocess
import sys

from course_tools.locked_packages import CUDA_LOCK, LOCKS


def main():
    """Print the verdict, and end with its status."""
    files = [argument for lock in (*LOCKS.values(), CUDA_LOCK) for argument in ("-r", str(lock))]
    command = [sys.executable, "-m", "pip_audit", "--disable-pip", "--require-hashes", "--format", "json", *files]
    done = subprocess.run(command, capture_output=True, encoding="utf-8")
    status, words = verdict(done.stdout, done.stderr)
    print(words)
    sys.exit(status)


def verdict(report, complaints):
    """(exit status, what to say) of pip-audit's JSON report and what it wrote beside it."""
    try:
        packages = json.loads(report)["dependencies"]
    except ValueError:
        return 2, f"The audit could not run: {complaints.strip().rpartition(chr(10))[2] or 'pip-audit said nothing'}"
    lines = [line(package, weakness) for package in packages for weakness in package.get("vulns", [])]
    skipped = [package["skip_reason"] for package in packages if "skip_reason" in package]
    if skipped:
        lines.append(f"The audit could not run for {len(skipped)} of {len(packages)} packages: {skipped[0]}, ...")
    status = 2 if skipped else 1 if lines else 0
    return status, "\n".join(lines) or f"No known vulnerability in {len(packages)} packages."


def line(package, weakness):
    """What is said of a package's weakness."""
    versions = ", ".join(weakness["fix_versions"]) or "no version yet"
    return f"{package['name']} {package['version']}: {weakness['id']}, mended in {versions}"


if __name__ == "__main__":
    main()
