"""What `check` and `hint` say about a wrong answer, in the words of `sentences.toml`.

The first reply names the place and asks a question. `hint` names the kind of slip, and then the change itself.
"""

import re
import tomllib
from pathlib import Path

import torch

from course_utils.judging import differences

MOST_WORDS, MOST_ON_MASKS = 60, 30  # of prose in a reply, without code and numbers; more, where masks are described
LONGEST = 120  # characters of a piece of code in a sentence
MOST_NUMBERS = 12  # of a tensor that is written out in a sentence
TEXTS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
SLIPS, QUESTIONS = TEXTS["slips"], TEXTS["questions"]
SENTENCES = TEXTS["hints"] | TEXTS["places"] | TEXTS["relations"]


def say(kind, **parts):
    """A sentence of a kind with these parts in it; of one that is "", no space is left."""
    text = SENTENCES[kind]
    for name in [name for name, part in parts.items() if part == ""]:
        text = text.replace(f"{{{name}}} ", "")
    return text.format(**parts).strip()


def question(kind, code):
    """Which dimension does it name, and which do you need? code: the wrong piece."""
    plain = len(code) <= LONGEST and "\n" not in code and code[:1] not in ("(", "[")  # what it gives is no question
    piece = f"`{code}`" if plain else "this line"
    return (SLIPS.get(kind, [""])[0] or SLIPS[""][0]).format(piece)


def when(turn, run):
    """When `t` is 2, or In iteration 3, or Here. turn: the loop variables, (name, words). run: iteration 3, or ""."""
    return f"When {named_values(turn)}" if turn else f"In {run}" if run else "Here"


def turn(when):
    """The same in the middle of a sentence: when `t` is 2, or (iteration 3)."""
    run = when.removeprefix("In ")
    return "" if when == "Here" else f" ({run})" if run != when else f" {when[0].lower()}{when[1:]}"


def there(values):
    """There, `t` is 2 and `row` has the shape (4,). values: (name, words); "" for none."""
    return say("there", values=named_values(values)) if values else ""


def lines_of(lines):
    """line 2, `mask = …`, and line 3, `…`; more of them as lines 4, 6 and 9 to 12. lines: (line, code, last line)."""
    if len(lines) < 3:
        return places(lines)
    runs = []
    for first, _, last in lines:
        joined = runs and first <= runs[-1][1] + 1
        runs[-1:] = [(runs[-1][0], last)] if joined else [*runs[-1:], (first, last)]
    runs = [[f"{first} to {last}"] if last > first + 1 else map(str, range(first, last + 1)) for first, last in runs]
    return f"lines {listed([line for run in runs for line in run])}"


def listed(words):
    """a, b and c."""
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def places(lines):
    """line 3, `scores -= 1`, and line 4, `…`. lines: (line, code), and maybe more."""
    words = [f"line {line}, `{shortened(code)}`" for line, code, *_ in lines]
    return ", and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def named_values(values):
    """`t` is 2 and `row` has the shape (4,). values: (name, words)."""
    return listed([f"`{name}` {words}" for name, words in values])


def relation(got, wanted, name):
    """How a value differs as a whole from the one that it should be: True and False are swapped in it. Or ""."""
    if not isinstance(got, torch.Tensor) or not isinstance(wanted, torch.Tensor) or got.numel() < 2:
        return ""
    x, y = got.double(), wanted.double()
    factor = ((x * y).sum() / (y * y).sum()).item() if x.shape == y.shape else 0.0

    def same(each, other=y):
        return each.shape == other.shape and torch.allclose(each, other, 1e-4, 1e-6)

    if got.dtype == wanted.dtype == torch.bool:
        kind = "inverted" if same(1 - x) else ""
    elif any(same(x.transpose(k, k + 1)) for k in range(x.ndim - 1)):
        kind = "transposed"
    elif factor and same(x / factor):
        kind = "wrong sign" if abs(factor + 1) < 1e-4 else "times"
    else:
        entries = [each.flatten().sort()[0] for each in (x, y)]
        kind = "shuffled" if x.numel() > 3 and x.shape == y.shape and same(*entries) else ""
    return say(kind, place=name, factor=differences.rounded(factor)) if kind else ""


def brief(value, shapes=False):
    """A value in a few words: is 3, is `[0.5, 0.5]`, has the shape (2, 3, 4); "" for what cannot be described."""
    if isinstance(value, torch.Tensor) and 0 < value.numel() <= MOST_NUMBERS and not shapes:
        return f"is `{differences.rounded(value.tolist(), 4)}`"
    if isinstance(value, torch.Tensor):
        return f"has the shape {tuple(value.shape)}"
    if isinstance(value, (bool, int, float)):
        return f"is {differences.rounded(value, 4)}"
    if isinstance(value, list) and len(value) <= MOST_NUMBERS and all(type(each) in (int, float) for each in value):
        return f"is `{differences.rounded(value, 4)}`"
    return f"has {len(value)} entr{'y' if len(value) == 1 else 'ies'}" if isinstance(value, list) else ""


def words_in(text):
    """How many words of prose a reply has: without code, numbers, shapes and what Python says about an error."""
    return len(re.sub(r"`[^`]*`|of shape \(|\w+Error: [^\n]*|[\d.\[\](),-]+", " ", text).split())


def shortened(code):
    """A piece of code, short enough for a sentence."""
    lines = [line.strip() for line in code.splitlines()]
    line = " ".join(lines) if any(line.endswith(":") for line in lines) else "; ".join(lines)
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 2]} …"
