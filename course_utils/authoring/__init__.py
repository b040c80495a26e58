"""From the chapters' sources to the notebooks that people open, and the links that lead to them."""
