"""How long from a control's change to the new picture in a kernel, as a ratio to ipywidgets.interact with matplotlib?

    python -m tests.benchmarks.live_pictures [ROUNDS]

One kernel moves the query of a live figure and the slider of an `interact` that draws the same maps, turn about. A time
counts from setting the control until the messages with the new picture are sent. Prints medians and the ratio; below 1,
the live figure is the faster one.
"""

import json
import sys

from jupyter_client.manager import start_new_kernel

from course_utils.repository import ROOT

MAPS = [(1, 6), (12, 6), (12, 64)]  # heads, tokens
TIMES = """
import io, json, statistics, time
import ipywidgets, torch
from IPython.display import display
from matplotlib import pyplot
from course_utils.live import attention

def plain(heads, query):
    figure, all_axes = pyplot.subplots(1, len(heads), squeeze=False)
    for axes, values in zip(all_axes[0], heads):
        axes.imshow(values, vmin=0, vmax=1)
        axes.axhspan(query - 0.5, query + 0.5, fill=False)
    display(figure)
    pyplot.close(figure)

def milliseconds(control, value):
    begin = time.perf_counter()
    control.value = value
    return 1000 * (time.perf_counter() - begin)

for heads, size in {maps}:
    weights = torch.softmax(torch.randn(heads, size, size), dim=-1)
    ours = attention.attention_figure(weights, [f"t{{n}}" for n in range(size)]).controls["query"]
    theirs = ipywidgets.interactive(plain, heads=ipywidgets.fixed(weights), query=(0, size - 1)).children[0]
    times = [(milliseconds(ours, n % size), milliseconds(theirs, n % size)) for n in range({rounds} + 1)][1:]
    print(json.dumps([heads, size, *map(statistics.median, zip(*times))]))
"""


def main(rounds):
    """Run both in one kernel and print what they took."""
    manager, client = start_new_kernel(kernel_name="python3", cwd=str(ROOT))
    lines = []

    def keep(message):
        if message["msg_type"] == "stream":
            lines.extend(message["content"]["text"].splitlines())
        elif message["msg_type"] == "error":
            sys.exit("\n".join(message["content"]["traceback"]))

    client.execute_interactive(TIMES.format(maps=MAPS, rounds=rounds), output_hook=keep, timeout=600)
    manager.shutdown_kernel(now=True)
    for line in lines:
        if line.startswith("["):
            heads, size, ours, theirs = json.loads(line)
            times = f"{ours:6.1f} ms, interact {theirs:6.1f} ms, ratio {ours / theirs:.3f}"
            print(f"{heads:2} maps of {size:2} × {size:2}: {times}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
