"""Live figures: each takes your own tensors in one call and moves on the page; `try_` ones run your own code.

What belongs here: a file for each figure, and shared code. Not: a chapter's numbers or words.
"""

from course_utils.live.all_heads import show_all_heads, try_sentence
from course_utils.live.attention import show_attention
from course_utils.live.dropout import show_dropout
from course_utils.live.language_model import try_language_model
from course_utils.live.masking import show_masking
from course_utils.live.padding import show_padding
from course_utils.live.preferences import show_preferences
from course_utils.live.query_steps import show_query_steps
from course_utils.live.rotary import show_rotary
from course_utils.live.scaling import show_scaling
from course_utils.live.shape_walk import show_shape_walk
from course_utils.live.tiles import show_tiles
from course_utils.live.try_head import try_head
from course_utils.live.try_layer import try_layer

__all__ = [
    "show_all_heads", "show_attention", "show_dropout", "show_masking", "show_padding", "show_preferences",
    "show_query_steps", "show_rotary", "show_scaling", "show_shape_walk", "show_tiles", "try_head",
    "try_language_model", "try_layer", "try_sentence",
]  # fmt: skip
