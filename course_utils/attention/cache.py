"""The cache of `Attention`: the keys and values that later tokens can still see, and how many tokens there were."""

from typing import NamedTuple

import torch
from torch import Tensor

from course_utils.validation import check_cache

__all__ = ["Cache"]


class Cache(NamedTuple):
    """keys, values: (B, num_kv_heads, S, head_dim) of the newest S tokens. length: the number so far, T.

    Without a window, S is T. A layer makes it, and it checks what is appended.
    """

    keys: Tensor
    values: Tensor
    length: int

    @staticmethod
    def length_of(cache: "Cache | None") -> int:
        """The number of earlier tokens: 0 if cache is None. Raises ValueError for anything but a Cache."""
        if cache is not None and not isinstance(cache, Cache):
            raise ValueError(
                f"cache is a {type(cache).__name__}, which does not record its length: "
                "pass the whole cache that this layer's last call returned, or None to start."
            )
        return 0 if cache is None else cache.length

    @staticmethod
    def extended(cache: "Cache | None", keys: Tensor, values: Tensor) -> "Cache":
        """The cache with keys and values (B, num_kv_heads, n, head_dim) appended. Raises ValueError for a misfit."""
        if cache is None:
            return Cache(keys, values, keys.shape[-2])
        check_cache(cache[:2], keys, values)
        keys, values = torch.cat([cache.keys, keys], dim=-2), torch.cat([cache.values, values], dim=-2)
        return Cache(keys, values, cache.length + keys.shape[-2] - cache.keys.shape[-2])

    def cut(self, mask: Tensor | None) -> Tensor | None:
        """The columns of a mask (B, n, T) for the tokens that are kept: (B, n, S)."""
        if mask is None or mask.shape[-1] != self.length:  # a mask that does not fit is refused where it is used
            return mask
        return mask[..., self.length - self.keys.shape[-2] :]

    def seen_next(self, window: int | None) -> "Cache":
        """The cache without tokens that a window hides from the next one."""
        if window is None:
            return self
        first = max(0, self.keys.shape[-2] - window + 1)
        return self._replace(keys=self.keys[..., first:, :], values=self.values[..., first:, :])
