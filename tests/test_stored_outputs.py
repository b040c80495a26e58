"""The comparison accepts what another processor may print, and nothing else."""

import base64
import io
import os
import subprocess
import sys

import nbformat
import pytest
import torch
from nbformat.v4 import new_code_cell, new_notebook, new_output
from PIL import Image, ImageDraw

from course_tools.repository import ROOT
from course_utils import pictures
from tests.support.comparing import same_picture, same_picture_in_the_large, same_text
from tests.support.nbval_tensors import agree, different_pictures

ACCEPTED = {
    "the same": ("tensor([0.1385, 0.2379])", "tensor([0.1385, 0.2379])"),
    "one unit of the last digit": ("tensor([0.1385, 0.2379])", "tensor([0.1386, 0.2378])"),
    "a sign that shifts the columns": ("tensor([[ 0.0000, 1.2000]])", "tensor([[-0.0000, 1.2000]])"),
    "exactly one against nearly one": ("Sum: tensor(1.)", "Sum: tensor(1.0000)"),
    "a row of ones against nearly ones": ("tensor([1., 1.])", "tensor([1.0000, 1.0000])"),
    "a small entry beside a large one": ("tensor([1.0000e+00, 1.2e-09])", "tensor([1.0001e+00, 5.2e-09])"),
    "a lone number in scientific notation": ("48 tokens: 6.1e-15", "48 tokens: 6.2e-15"),
}
REJECTED = {
    "two units of the last digit": ("tensor([0.1385, 0.2379])", "tensor([0.1387, 0.2379])"),
    "another shape": ("tensor([[0.1385], [0.2379]])", "tensor([[0.1385, 0.2379]])"),
    "one number more": ("tensor([0.1385, 0.2379])", "tensor([0.1385, 0.2379, 0.2333])"),
    "another dtype": ("tensor([0.1385], dtype=torch.float64)", "tensor([0.1385])"),
    "another sign": ("tensor([0.1385])", "tensor([-0.1385])"),
    "other words": ("Sum: tensor(1.)", "Total: tensor(1.)"),
    "2 for 1 in a mask": ("tensor([2., 0.])", "tensor([1., 0.])"),
    "0.6 for 0.5": ("dropout 0.6", "dropout 0.5"),
    "1.00 for 1.01": ("sum 1.00", "sum 1.01"),
    "another integer": ("tensor([1, 2])", "tensor([1, 3])"),
    "nan for a number": ("tensor([nan])", "tensor([0.1385])"),
    "-inf for inf": ("tensor([-inf])", "tensor([inf])"),
    "another gradient function": ("tensor([0.1], grad_fn=<MmBackward0>)", "tensor([0.1], grad_fn=<AddBackward0>)"),
    "a lone number another power of ten": ("48 tokens: 6.1e-15", "48 tokens: 6.1e-14"),
    "a lone number beside a large one": ("2.2e-02\n8.7e-08", "2.2e-02\n8.8e-09"),
    "a line break": ("tensor([0.1385,\n 0.2379])", "tensor([0.1385, 0.2379])"),
}


@pytest.mark.parametrize("fresh, stored", ACCEPTED.values(), ids=ACCEPTED)
def test_accepts(fresh, stored):
    assert same_text(fresh, stored) and same_text(stored, fresh)


@pytest.mark.parametrize("fresh, stored", REJECTED.values(), ids=REJECTED)
def test_rejects(fresh, stored):
    assert not same_text(fresh, stored) and not same_text(stored, fresh)


@pytest.mark.parametrize("seed", range(5))
def test_a_last_bit_is_accepted_and_a_wrong_axis_is_not(seed):
    scores = torch.randn(5, 5, generator=torch.Generator().manual_seed(seed))
    weights = torch.softmax(scores, dim=-1)
    assert same_text(str(weights * (1 + 1e-6)), str(weights))
    assert not same_text(str(torch.softmax(scores, dim=0)), str(weights))


def test_an_output_that_agrees_takes_the_stored_text_and_another_keeps_its_own():
    stored = [new_output("stream", name="stdout", text="tensor([0.1385])\n")]
    near, far = ([new_output("stream", name="stdout", text=f"tensor([{x}])\n")] for x in ("0.1386", "0.1390"))
    assert agree(near, stored) == stored
    assert agree(far, stored) == far


def picture(draw=lambda image: None, size=(300, 200)):
    """A white PNG in base64 on which `draw` has drawn."""
    image = Image.new("RGB", size, "white")
    ImageDraw.Draw(image).rectangle([50, 50, 150, 150], fill="navy")
    draw(ImageDraw.Draw(image))
    file = io.BytesIO()
    image.save(file, "png")
    return base64.b64encode(file.getvalue()).decode()


def test_pictures_are_compared_as_they_look():
    assert same_picture(picture(lambda image: image.point([10, 10], fill="black")), picture())
    assert same_picture(picture(lambda image: image.rectangle([50, 50, 150, 150], fill="#000088")), picture())
    assert not same_picture(picture(lambda image: image.rectangle([60, 60, 80, 80], fill="yellow")), picture())
    assert not same_picture(picture(size=(300, 201)), picture())


def heat_map(number, shade, monkeypatch):
    """A course's heat map with one weight of a given number and shade, as PNG in base64."""
    shown = []
    monkeypatch.setattr(pictures, "display", lambda bundle, raw: shown.append(bundle["image/png"]))
    monkeypatch.setattr(pictures, "numbered", lambda tokens: [f"{number:.4f}", "b"])
    pictures.show_weights([[shade, 0.5], [0.5, 0.5]], ["a", "b"])
    return shown[0]


def test_a_last_digit_in_a_picture_may_differ_and_a_shade_may_not(monkeypatch):
    drawn = heat_map(0.1385, 0.17, monkeypatch)
    assert same_picture(heat_map(0.1386, 0.17, monkeypatch), drawn)
    assert not same_picture(heat_map(0.1385, 0.26, monkeypatch), drawn)


def test_another_matplotlib_may_move_letters_by_a_pixel_and_change_no_colour():
    moved = picture(lambda image: image.rectangle([51, 51, 151, 151], fill="navy"), size=(301, 200))
    assert same_picture_in_the_large(moved, picture())
    assert not same_picture_in_the_large(
        picture(lambda image: image.rectangle([60, 60, 100, 100], fill="yellow")), picture()
    )
    assert not same_picture_in_the_large(picture(size=(300, 220)), picture())


def test_a_changed_or_missing_picture_is_reported():
    stored = [new_output("display_data", data={"image/png": picture()}) for _ in range(2)]
    changed = [stored[0], new_output("display_data", data={"image/png": picture(size=(9, 9))})]
    assert different_pictures(stored, stored) == []
    assert different_pictures(changed, stored) == [2]
    assert different_pictures(stored[:1], stored) == [2]


@pytest.mark.every_setting("how a difference is shown")
def test_a_difference_is_shown_as_from_stored_to_new_and_without_colours(tmp_path):
    stored = [new_output("stream", name="stdout", text="first\nas it was\n")]
    cells = [
        new_code_cell("print('first\\nas it is')", outputs=stored, execution_count=1),
        new_code_cell("1 / 0", execution_count=2),
    ]
    nbformat.write(new_notebook(cells=cells), tmp_path / "changed.ipynb")
    options = [
        "-q",
        "-p",
        "no:cacheprovider",
        "-c",
        ROOT / "pyproject.toml",
        f"--rootdir={ROOT}",
        "--nbval-current-env",
    ]
    command = [sys.executable, "-m", "pytest", *options, tmp_path]
    done = subprocess.run(
        command, cwd=ROOT, env=os.environ | {"FORCE_COLOR": ""}, capture_output=True, encoding="utf-8"
    )
    assert "2 failed" in done.stdout and "ZeroDivisionError" in done.stdout, done.stdout
    assert "\n first\n-as it was\n+as it is\n" in done.stdout and "\x1b" not in done.stdout, done.stdout
