"""Live figures: each is one call with your own tensors, and redraws itself when you move a control."""

from course_utils.live.attention import show_attention
from course_utils.live.query_steps import show_query_steps

__all__ = ["show_attention", "show_query_steps"]
