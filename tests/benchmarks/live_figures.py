"""How long from the pointer's event to the painted frame of a live figure, beside today's `ipywidgets.interact`?

    python -m tests.benchmarks.live_figures [ROUNDS]

Chromium moves the pointer over a figure's maps; a time counts from the event until its frame was painted. `interact`
redraws the same maps with matplotlib in a kernel; its time ends when the picture is made, so that sending and painting
it come on top. Prints medians, and for ours what 19 of 20 events stay below.
"""

import io
import statistics
import sys
import tempfile
import time
from pathlib import Path

import ipywidgets
import torch
from matplotlib import pyplot

from course_utils.live.attention import attention_figure
from tests.support import examples, page

MAPS = [(1, 6), (12, 6), (12, 64)]  # heads, tokens
MEASURE = """async rounds => {
  const boards = [...document.querySelectorAll("[role=application]")], times = [];
  const frame = () => new Promise(done => requestAnimationFrame(done));
  const painted = () => new Promise(done => {
    const channel = new MessageChannel();
    channel.port1.onmessage = done;
    channel.port2.postMessage(0);
  });
  for (let round = 0; round < rounds; round++) {
    const board = boards[round % boards.length], box = board.getBoundingClientRect();
    const [x, y] = [(round * 7) % 10 + 0.5, (round * 3) % 10 + 0.5];
    const place = {clientX: box.left + box.width * x / 10, clientY: box.top + box.height * y / 10};
    await frame();  // what follows is painted with this frame
    const begin = performance.now();
    board.dispatchEvent(new PointerEvent("pointermove", {bubbles: true, ...place}));
    await painted();
    times.push(performance.now() - begin);
  }
  return times;
}"""


def frames(browser, figure, rounds):
    """Milliseconds from event to painted frame, one per round."""
    with tempfile.TemporaryDirectory() as folder:
        shown = page.opened(browser, Path(folder), figure.html(), height=1000)
        times = shown.evaluate(MEASURE, rounds)
    return times[1:]


def with_interact(heads, size, rounds):
    """Milliseconds that `interact` takes to draw the same maps anew, one per round."""
    weights = torch.softmax(torch.randn(heads, size, size), dim=-1)

    def plain(query):
        figure, all_axes = pyplot.subplots(1, heads, squeeze=False)
        for axes, values in zip(all_axes[0], weights):
            axes.imshow(values, vmin=0, vmax=1)
            axes.axhspan(query - 0.5, query + 0.5, fill=False)
        figure.canvas.print_png(io.BytesIO())
        pyplot.close(figure)

    slider = ipywidgets.interactive(plain, query=(0, size - 1)).children[0]
    times = []
    for place in range(rounds):
        begin = time.perf_counter()
        slider.value = (place + 1) % size
        times.append(1000 * (time.perf_counter() - begin))
    return times


def main(rounds):
    """Measure every figure, and maps of three sizes beside `interact`."""
    with page.chromium() as browser:
        for name in sorted(examples.of_figures()):
            show(name, frames(browser, examples.figure(name), rounds))
        for heads, size in MAPS:
            weights = torch.softmax(torch.randn(heads, size, size), dim=-1)
            figure = attention_figure(weights, [f"t{place}" for place in range(size)])
            theirs = statistics.median(with_interact(heads, size, max(2, rounds // 10)))
            show(f"{heads} maps of {size} × {size}", frames(browser, figure, rounds), f", interact {theirs:6.1f} ms")


def show(name, times, more=""):
    """Print one line."""
    slow = statistics.quantiles(times, n=20)[-1]
    print(f"{name:20} {statistics.median(times):5.1f} ms, 19 of 20 below {slow:5.1f} ms{more}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 60)
