"""Print the licence of every package that is installed, as the package itself states it.

.venv/bin/python -m tests.support.licences
"""

from importlib.metadata import distributions

NONE = "states none"


def main():
    """A line for each package: its name, its version, its licence."""
    rows = sorted({(found.name, found.version, licence(found.metadata)) for found in distributions()}, key=str)
    for name, version, words in rows:
        print(f"{name:<28} {version:<14} {words}")


def licence(metadata):
    """The licence in a package's metadata: the expression, or else the classifiers, or else the text's first line."""
    classified = [
        line.split(" :: ")[-1] for line in metadata.get_all("Classifier", []) if line.startswith("License ::")
    ]
    text = metadata.get("License", "").strip().partition("\n")[0]
    return metadata.get("License-Expression") or ", ".join(classified) or text or NONE


if __name__ == "__main__":
    main()
