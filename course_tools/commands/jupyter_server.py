"""JupyterLab that prints its address in one line and refuses unknown options.

`lab` runs it with the Python of the course's environment: python -m course_tools.commands.jupyter_server OPTIONS.
"""

import os
import sys

from jupyter_server.serverapp import ServerApp
from jupyterlab.labapp import LabApp
from traitlets import HasTraits

PORT_OPTIONS = {"port", "ServerApp.port"}


class Server(ServerApp):
    """A server that prints its address once."""

    def start_app(self):
        """Print the address, then start."""
        print(f"\n{self.display_url.split()[0]}\n\nControl-C ends JupyterLab. Your work is in work/.", flush=True)
        self.identity_provider.token_generated = False  # or it would be printed again, in six lines
        super().start_app()


class Lab(LabApp):
    """JupyterLab on that server."""

    serverapp_class = Server


def known_options():
    """The names of all options, as written after the dashes."""
    classes = {base for owner in (Lab, Server, *Lab.classes, *Server.classes) for base in owner.__mro__}
    traits = {
        f"{owner.__name__}.{name}"
        for owner in classes
        if issubclass(owner, HasTraits)
        for name in owner.class_trait_names()
    }
    return traits | {*Lab.flags, *Lab.aliases, "help", "help-all", "h", "version"}


def main(arguments):
    """Become JupyterLab, or end with a sentence on an unknown option."""
    written = [argument.lstrip("-").partition("=")[0] for argument in arguments if argument.startswith("-")]
    if unknown := [name for name in written if {name, name.replace("_", "-")}.isdisjoint(known_options())]:
        sys.exit(f"JupyterLab has no option --{unknown[0]}. `lab --help-all` lists all options.")
    if not PORT_OPTIONS.isdisjoint(written):  # whoever names a port expects that one: fail if it is taken
        os.environ.setdefault("JUPYTER_PORT_RETRIES", "0")
    Lab.launch_instance(arguments)


if __name__ == "__main__":
    main(sys.argv[1:])
