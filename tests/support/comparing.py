"""When are two outputs the same? Text as text, tensors as tensors, pictures as pictures.

Another processor may round the last printed digit differently; 4 in 10,000 numbers do. Anything more is a change.
"""

import base64
import io
import json
import re
import string
import zlib
from decimal import Decimal

import numpy as np
from PIL import Image

from course_tools.build.still_pictures import STILL_PICTURE

PACKED = re.compile(r'(?<=<script type="application/json">)[\w+/=]+(?=</script>)')  # a figure's data
LETTERS = string.ascii_uppercase + string.ascii_lowercase + string.digits + "+/"  # of packed numbers, five bits each
COUNTED = {"each": 1000, "ahead": 100_000}  # what figures write as whole numbers: chances, preferences
NUMBER = re.compile(r"[-+]?\d+\.\d*(?:e[-+]\d+)?")  # decimal numbers only: integers, nan and inf are text
ROUNDED = 3  # decimals from which on a number counts as rounded; 0.5 and 0.6 are different numbers
VISIBLE = 12  # of 255: a pixel that differs less looks the same
TILE = 32  # pixels: pictures are compared in squares of this size, so that a small change does not drown
MOVED, BLUR, SHADE = 6, 20, 48  # pixels, pixels, of 255: what letters may do to a picture in the large
EDGES = 0.2  # the share of a square's pixels that may differ: edges of letters, or one last digit


def same_text(fresh, stored):
    """Whether two printed texts say the same, up to one unit in the last printed digit of each number."""
    if skeleton(fresh) != skeleton(stored):
        return False
    pairs = zip(numbers(fresh), numbers(stored), strict=True)
    return all(same_number(left, right, max(step, other)) for (left, step), (right, other) in pairs)


def same_page(fresh, stored):
    """The same for HTML. A live figure's still is only in what is stored; its code has a test of its own."""
    return same_text(readable(fresh), readable(stored))


def readable(page):
    """HTML without a live figure's still and code, and its packed numbers as decimal ones."""
    page = re.sub(r'atob\("[^"]*"\)', "", STILL_PICTURE.sub("", page))
    page = PACKED.sub(lambda data: zlib.decompress(base64.b64decode(data[0])).decode(), page)
    page = re.sub(r'(?<="shares":)"[^"]*"', lambda shares: steps(shares[0]), page)
    for key, parts in COUNTED.items():
        page = with_numbers(page, key, parts)
    return re.sub(r'(?<="letters":")[^"]*', lambda letters: unpacked(letters[0]), page)


def steps(shares):
    """The shares that chapter 11's figure writes as one letter each, as numbers whose last digit may move by one."""
    return " ".join(f"{(ord(letter) - 35) / 1000:.3f}" for letter in json.loads(shares))


def with_numbers(page, key, parts):
    """The page with each count after this key, in parts of one, as a decimal whose last digit may move by one."""
    decimals = len(str(parts)) - 1
    number = lambda count: f"{int(count[0]) / parts:.{decimals}f}"
    return re.sub(rf'(?<="{key}":)[][,0-9-]+', lambda counts: re.sub(r"-?\d+", number, counts[0]), page)


def unpacked(letters):
    """The numbers that `maps.packed` packed, as figures print them: their last packed digit may move by two."""
    found, number = [], 0
    for letter in letters:
        bits = LETTERS.index(letter)
        number = 32 * number + bits % 32
        if bits < 32:
            found.append(f"{number / 10000:.3f}")
            number = 0
    return " ".join(found)


def skeleton(text):
    """The text around its decimal numbers, with the padding that lines up a tensor's columns collapsed."""
    return re.sub(" +", " ", NUMBER.sub("#", text)).replace("[ ", "[")


def numbers(text):
    """Each decimal number as printed, with the step by which it may differ.

    A tensor in scientific notation rounds every entry relative to its largest one, so its entries share a step.
    """
    found = []
    for part in re.split(r"(tensor\([^()]*)", text):
        here = NUMBER.findall(part)
        steps = [unit(number) for number in here]
        if part.startswith("tensor(") and any("e" in number for number in here):
            steps = [max(steps)] * len(steps)
        found += zip(here, steps)
    return found


def unit(number):
    """One unit of the last printed digit; 0 for a number with so few decimals that it must be exact."""
    digits, _, exponent = number.partition("e")
    decimals = len(digits.partition(".")[2])
    if not exponent and decimals < ROUNDED:
        return Decimal(0)
    return Decimal(1).scaleb(int(exponent or 0) - decimals)


def same_number(fresh, stored, step):
    """Whether two printed numbers differ by at most `step`."""
    if ("e" in fresh) != ("e" in stored):
        return False
    decimals = [len(number.partition("e")[0].partition(".")[2]) for number in (fresh, stored)]
    if decimals[0] != decimals[1] and min(decimals) > 0:  # torch prints exactly 1 as `1.`, and 0.99999 as `1.0000`
        return False
    return abs(Decimal(fresh) - Decimal(stored)) <= step


def same_picture(fresh, stored):
    """Whether two PNG pictures in base64 look the same in every square, edges of letters aside."""
    left, right = (pixels(picture) for picture in (fresh, stored))
    if left.shape != right.shape:
        return False
    differs = (abs(left - right) > VISIBLE).any(axis=-1)
    rows, columns = (range(0, length, TILE) for length in differs.shape)
    return all(differs[y : y + TILE, x : x + TILE].mean() <= EDGES for y in rows for x in columns)


def same_picture_in_the_large(fresh, stored):
    """Whether two PNG pictures in base64 look the same, letters aside, which another library draws elsewhere."""
    left, right = (opened(picture) for picture in (fresh, stored))
    if any(abs(one - other) > MOVED for one, other in zip(left.size, right.size)):
        return False
    coarse = [max(1, length // BLUR) for length in right.size]
    left, right = (np.asarray(image.resize(coarse, Image.Resampling.BOX), dtype=int) for image in (left, right))
    return abs(left - right).max() <= SHADE


def pixels(picture):
    """A PNG in base64 as an array of shape (height, width, 3)."""
    return np.asarray(opened(picture), dtype=int)


def opened(picture):
    """A PNG in base64 as an image."""
    return Image.open(io.BytesIO(base64.b64decode(picture))).convert("RGB")
