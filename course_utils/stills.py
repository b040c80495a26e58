"""What a notebook file keeps of a live figure: the still picture. Standard library only.

A stored reference to a widget outlives its kernel, and JupyterLab then shows an error where the picture should be.
"""

WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"


def keep(notebook):
    """Take the widgets out of a notebook wherever an output also holds a picture. Changes it in place."""
    for cell in notebook["cells"]:
        for output in cell.get("outputs", []):
            if "image/png" in output.get("data", {}):
                output["data"].pop(WIDGET_VIEW, None)
    notebook["metadata"].pop("widgets", None)


def before_saving(model, **_):
    """The hook that Jupyter's server calls on every file that it is about to save."""
    if model["type"] == "notebook" and model["content"]:
        keep(model["content"])
