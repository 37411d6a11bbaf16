"""A Llama: RMSNorm, interleaved RoPE, SwiGLU, tied embeddings, no biases.

RoPE turns neighbouring pairs (0, 1), (2, 3), ... as llama.cpp does for this
architecture, so the weights go into the GGUF as they are.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from recipe.settings import Shape


class Norm(nn.Module):
    """Root-mean-square normalisation."""

    def __init__(self, width: int, epsilon: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.epsilon = epsilon

    def forward(self, x: Tensor) -> Tensor:
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.epsilon) * self.weight


def rotation(shape: Shape) -> tuple[Tensor, Tensor]:
    """Return cosine and sine of every position's angles: (context, head / 2)."""
    head = shape.width // shape.heads
    rates = shape.rope_base ** (-torch.arange(0, head, 2, dtype=torch.float64) / head)
    angles = torch.arange(shape.context, dtype=torch.float64)[:, None] * rates
    return angles.cos().float(), angles.sin().float()


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Turn the neighbouring pairs of (batch, heads, time, head)."""
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack((even * cos - odd * sin, even * sin + odd * cos), -1).flatten(-2)


class Block(nn.Module):
    """Attention and feed-forward, each behind its norm."""

    def __init__(self, shape: Shape, dropout: float) -> None:
        super().__init__()
        width, inner = shape.width, shape.feed_forward
        self.heads = shape.heads
        self.attn_norm = Norm(width, shape.norm_epsilon)
        self.attn_q = nn.Linear(width, width, bias=False)
        self.attn_k = nn.Linear(width, width, bias=False)
        self.attn_v = nn.Linear(width, width, bias=False)
        self.attn_output = nn.Linear(width, width, bias=False)
        self.ffn_norm = Norm(width, shape.norm_epsilon)
        self.ffn_gate = nn.Linear(width, inner, bias=False)
        self.ffn_up = nn.Linear(width, inner, bias=False)
        self.ffn_down = nn.Linear(inner, width, bias=False)
        self.drop = nn.Dropout(dropout)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        batch, time, width = x.shape
        y = self.attn_norm(x)
        q, k, v = (
            layer(y).view(batch, time, self.heads, -1).transpose(1, 2)
            for layer in (self.attn_q, self.attn_k, self.attn_v)
        )
        y = functional.scaled_dot_product_attention(
            rotate(q, cos, sin), rotate(k, cos, sin), v, is_causal=True
        )
        x = x + self.drop(self.attn_output(y.transpose(1, 2).reshape(batch, time, width)))
        y = self.ffn_norm(x)
        y = functional.silu(self.ffn_gate(y)) * self.ffn_up(y)
        out: Tensor = x + self.drop(self.ffn_down(y))
        return out


class Network(nn.Module):
    """The whole model; the parameters are named as GGUF names them."""

    cos: Tensor
    sin: Tensor

    def __init__(self, shape: Shape, dropout: float = 0.0) -> None:
        super().__init__()
        self.token_embd = nn.Embedding(shape.vocabulary, shape.width)
        self.blk = nn.ModuleList(Block(shape, dropout) for _ in range(shape.layers))
        self.output_norm = Norm(shape.width, shape.norm_epsilon)
        self.drop = nn.Dropout(dropout)
        cos, sin = rotation(shape)
        self.register_buffer("cos", cos, persistent=False)
        self.register_buffer("sin", sin, persistent=False)
        for name, parameter in self.named_parameters():
            if parameter.dim() == 2:
                # The layers that write to the residual stream start smaller.
                ends = name.endswith(("attn_output.weight", "ffn_down.weight"))
                nn.init.normal_(parameter, std=0.02 / (2 * shape.layers) ** 0.5 if ends else 0.02)

    def forward(self, ids: Tensor) -> Tensor:
        cos, sin = self.cos[: ids.shape[1]], self.sin[: ids.shape[1]]
        x = self.drop(self.token_embd(ids))
        for block in self.blk:
            x = block(x, cos, sin)
        return functional.linear(self.output_norm(x), self.token_embd.weight)
