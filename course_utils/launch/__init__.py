"""From a bare Python to running tools. Standard library only: nothing else is installed yet."""
