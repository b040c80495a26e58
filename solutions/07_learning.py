# ---
# jupyter:
#   course:
#     summary: a model that trains in seconds, the heads that copy, losses that lie
# ---

# %% [markdown]
# # Chapter 7 · Learning
#
# **After this chapter you can**
#
# * train a model that is nothing but attention, and find the two heads that do its work;
# * say how low a loss can fall, and recognise two ways in which a low loss misleads.
#
# **Time.** About 85 minutes, exercises included; all the training runs together take about twenty seconds. **You need**
# chapters 1 to 5: the causal mask, dropout, and the class `MultiHeadAttention`.
#
# Run the cells from top to bottom (Shift + Enter). The first one finds the course's helper package, or installs it.

# %% name="setup"
import importlib.util, os, sys

REPOSITORY = ""  # OWNER/REPO, written here by: python3 -m course_tools links OWNER/REPO
sys.path.insert(0, os.path.abspath(".."))  # in a clone, the helpers are one folder up
if importlib.util.find_spec("course_utils") is None:
    assert REPOSITORY, "course_utils is not here: open this notebook inside a clone of the course."
    # %pip install -q --no-deps git+https://github.com/{REPOSITORY}
if "COLAB_RELEASE_TAG" in os.environ:
    print("On Colab, File > Save a copy in Drive keeps what you write.")

# %% name="imports"
import copy
import math

import torch
import torch.nn.functional as F
from torch import nn

from course_utils import live, pictures
from course_utils.attention import CrossAttention, MultiHeadAttention
from course_utils.checking import answer, check, hint, progress, quiz, solution
from course_utils.training_bar import with_bar

# %% [markdown]
# So far, nearly all the matrices in this course have been random or written by hand. Training makes a head look at
# something *useful*. We shall train small models, and small matrices are fastest on one thread: waking a second one
# costs more than it saves. One thread also makes results independent of how many cores your machine has. Everything
# stays on the CPU, since a GPU would mostly wait.

# %% name="one-thread"
torch.set_num_threads(1)

# %% [markdown]
# ## A task that needs attention
#
# Our tokens are the numbers 0 to 99. A sequence starts with 12 of them, drawn at random. Then a run of 8 of these
# tokens, starting at a random position, is repeated.

# %% name="task"
vocabulary, first, repeated = 100, 12, 8
T = first + repeated


def repeats(count):
    """Sequences that end with a repeat, (count, T), and where it was copied from, (count, 1)."""
    tokens = torch.randint(vocabulary, (count, first))
    start = torch.randint(first - repeated + 1, (count, 1))  # 0 to 4
    repeat = tokens.gather(1, start + torch.arange(repeated))  # (count, repeated)
    return torch.cat([tokens, repeat], dim=1), start

# %% [markdown]
# In each row, `gather` picks the columns that we list for that row. Here are three sequences.

# %% name="three-sequences"
torch.manual_seed(123)
sequences, start = repeats(3)
print(sequences)
print("copied from position", start.flatten().tolist())

# %% [markdown]
# Positions are counted from 0, so the first row's repeat begins with that row's second token, 89. Read the first row.
# Which of its 20 tokens could you predict from the tokens before them? You cannot predict the first 12, which are
# random, nor the next one, since any of five tokens may begin the repeat. But once you have seen *one* token of the
# repeat, you can look it up in the first part and read off its successor. The last 7 tokens can nearly always be
# predicted.
#
# How far back is the earlier copy? It is 8 to 12 positions back, depending on the sequence. So learning *where* to look
# is not enough: a model must learn *what* to look for.

# %% [markdown]
# ## How wrong is a prediction?
#
# After each token a model gives 100 scores, one for every possible next token. (They are often called **logits**.)
# Softmax turns them into probabilities. The **loss** at a position is $-\ln p$, where $p$ is the probability that the
# model gave to the actual next token ($-\ln p$ is the same as $\ln \frac{1}{p}$). `F.cross_entropy` does both steps at
# once.

# %% name="loss-values"
for p in [1.0, 0.5, 0.1, 0.01]:
    print(f"p = {p}: loss {math.log(1 / p):.4f}")

# %% [markdown]
# A prediction that is certain and right costs nothing, 0.0000. A probability of one half costs 0.6931, and one tenth
# costs 2.3026. One hundredth, the most that we can give each of 100 equally likely tokens, costs 4.6052. That number is
# $\ln 100$; we shall meet it again.

# %% [markdown]
# **Question 7.1.** A model sees only the past. What is the lowest *average* loss that it can reach on the random
# tokens?
#
# * **a** 0, if it trains long enough.
# * **b** $\ln 100 = 4.6052$, by giving every token the same probability.
# * **c** Less than $\ln 100$, by betting on some tokens and sometimes being right.

# %% name="question-7-1"
answer("Q7.1", "b")

# %% [markdown]
# We call $\ln 100$ the **floor** of the random part. Does betting really lose? Here is a model that gives one token a
# probability of one half, and divides the rest equally among the 99 others.

# %% name="betting" tags=["answers-Q7.1"]
right, wrong = -math.log(0.5), -math.log(0.5 / 99)
print(f"{0.01 * right + 0.99 * wrong:.4f}")

# %% [markdown]
# One time in a hundred it is right and pays little. On average it pays 5.2423, more than the floor.

# %% [markdown]
# ### Exercise 7.1 · The loss of the next token
# 2 points · ★★☆ · 10 minutes
#
# Compute the losses of one sequence; try it without `F.cross_entropy`. The scores in row $t$ predict token $t + 1$.
# So the last row has no target, and there are $T - 1$ losses. Scores may be large: the loss of a very unlikely token
# must be large but finite. Training needs gradients, so use torch's functions throughout.

# %% name="exercise-7-1"
def my_next_token_losses(scores, tokens):
    """The losses (T - 1,) from scores (T, vocabulary) and tokens (T,)."""
    ### BEGIN SOLUTION
    logs = torch.log_softmax(scores[:-1], dim=-1)  # (T - 1, vocabulary)
    return -logs.gather(1, tokens[1:, None])[:, 0]  # (T - 1, 1) -> (T - 1,)
    ### END SOLUTION

# %% name="check-7-1"
### BEGIN HIDDEN TESTS
assert check("7.1", my_next_token_losses).status == "right"
### END HIDDEN TESTS
check("7.1", my_next_token_losses)

# %% [markdown] tags=["solution"]
# **Why it works.** Row 0 of the scores is made from token 0 and predicts token 1, so we drop the last row and the first
# token. `log_softmax` is the logarithm of softmax, computed in one step that does not overflow for large scores.
# `gather` then picks one column in each row, that of the actual token.

# %% [markdown]
# ## A model of nothing but attention
#
# Tokens are numbers, but attention needs vectors. `nn.Embedding` is a table with a learned vector, the embedding, for
# each token. Without a mask, attention does not know the order of its inputs: shuffling chapter 1's words would change
# no context vector. A causal mask does reveal the order, but a model must work it out over several layers (chapter 9).
# So we add a second table with a vector for each **position**.
#
# Then come layers of our `MultiHeadAttention`. Each *adds* its result to its input, so that nothing gets lost on the
# way. Finally, a linear layer produces scores.

# %% name="model"
class AttentionOnly(nn.Module):
    """Tokens (B, T) to scores for the next token, (B, T, vocabulary). Layers add to their input."""

    def __init__(
        self, vocabulary, context_length, num_layers=2, num_heads=1, dropout=0.0, width=64
    ):
        super().__init__()
        self.token_vectors = nn.Embedding(vocabulary, width)
        self.position_vectors = nn.Embedding(context_length, width)
        for table in [self.token_vectors, self.position_vectors]:
            nn.init.normal_(table.weight, std=0.3)  # with 1.0, too few steps for this seed
        self.layers = nn.ModuleList(
            MultiHeadAttention(width, width, context_length, dropout, num_heads)
            for _ in range(num_layers)
        )
        self.to_scores = nn.Linear(width, vocabulary)

    def forward(self, tokens):
        positions = torch.arange(tokens.shape[-1])  # (T,)
        x = self.token_vectors(tokens) + self.position_vectors(positions)  # (B, T, width)
        for layer in self.layers:
            x = x + layer(x)  # (B, T, width)
        return self.to_scores(x)  # (B, T, vocabulary)

# %% [markdown]
# GPT-2's layers contain more: normalisation, and a small network after attention. We leave both out, so that attention
# must do the work.

# %% name="new-model"
torch.manual_seed(123)
model = AttentionOnly(vocabulary, T)
print(sum(parameter.numel() for parameter in model.parameters()))
print(model(sequences).shape)

# %% [markdown]
# The model has 47,076 parameters; GPT-2 small has 2,600 times as many. Our 3 sequences of 20 tokens give 3 times 20
# rows of 100 scores. For the losses, `F.cross_entropy` expects the scores in dimension 1, hence the `transpose`.

# %% name="losses"
def next_token_losses(model, tokens):
    """The loss of each next token: (B, T - 1) for tokens (B, T)."""
    scores = model(tokens[:, :-1])  # (B, T - 1, vocabulary)
    return F.cross_entropy(scores.transpose(1, 2), tokens[:, 1:], reduction="none")  # (B, T - 1)

# %% [markdown]
# We look at two parts of these losses: the random part, and the repeat from its second token on. (The first token of
# the repeat belongs to neither.)

# %% name="parts"
def parts(losses):
    """The mean of losses (..., T - 1) on the random part and on the repeat, as two numbers."""
    return losses[..., :first - 1].mean().item(), losses[..., first:].mean().item()


torch.manual_seed(1)
fresh, fresh_start = repeats(512)  # sequences for tests; no model trains on them
with torch.no_grad():
    print("random part {:.1f}, repeat {:.1f}".format(*parts(next_token_losses(model, fresh))))

# %% [markdown]
# Untrained, the model knows nothing about either part: both losses are 4.6, near the floor. All tokens get about the
# same probability.

# %% [markdown]
# ## Training
#
# A training step takes a batch, computes the losses, finds how each parameter affects their mean (`backward`), and
# changes all parameters a little in the direction that lowers it (`step`). AdamW is a common rule for how much each
# changes. The **learning rate** scales all changes. We let it shrink steadily from 0.02 to 0, so the model settles.
#
# Our function takes all batches at once and returns the losses of every step. A bar shows its progress.

# %% name="train"
def train(model, batches, copies=None):
    """Train on batches (steps, B, T), one after the other; return the losses (steps, B, T - 1).

    copies: a list that gets a copy of the model before every tenth step.
    """
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.02)
    shrink = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, total_iters=len(batches))
    history = []
    for step, batch in enumerate(with_bar(batches)):
        if copies is not None and step % 10 == 0:
            copies.append(copy.deepcopy(model))
        losses = next_token_losses(model, batch)
        optimizer.zero_grad()
        losses.mean().backward()
        optimizer.step()
        shrink.step()
        history.append(losses.detach())
    return torch.stack(history)

# %% [markdown]
# We train for 250 steps with 64 new sequences each. Each sequence is used only once, so memorising does not help.
# Training takes a few seconds.

# %% name="training"
torch.manual_seed(2)
batches = repeats(250 * 64)[0].view(250, 64, T)
copies = []
history = train(model, batches, copies)

# %% name="training-curves" shows="Losses over 250 steps. Both parts start just above ln 100. The repeat falls slowly for 80 steps, steeply to about 1 at step 120, and ends near 0.3. The random part rises a little above the line at ln 100, most of all around step 120, and comes back close to it."
def curves(history):
    """For a figure: both parts of the losses (steps, B, T - 1), averaged over 10 steps."""
    tens = history.view(-1, 10, *history.shape[1:])  # (steps / 10, 10, B, T - 1)
    random_part, repeat = zip(*map(parts, tens))
    return {"random part": random_part, "repeat": repeat, "ln 100": [math.log(100)] * len(tens)}


pictures.show_curves(
    curves(history), x=range(10, 251, 10), x_label="step", y_label="loss",
    title="Two layers, one head each",
)

# %% [markdown]
# For 80 steps the loss on the repeat falls slowly. Then it drops steeply for some forty steps, and falls slowly
# again. The loss on the random part ends where it must, close to the floor. Earlier, it rises: the model already bets
# on some tokens, such as those it has seen, before it has learned when to.
#
# Does this hold for sequences that the model has never seen?

# %% name="test"
@torch.no_grad()
def test(model, tokens=fresh):
    """Both parts of the loss on some sequences, without dropout."""
    model.eval()
    losses = parts(next_token_losses(model, tokens))
    model.train()
    return losses


random_part, repeat = test(model)
above = random_part - math.log(100)
print(f"random part {random_part:.1f}, within 0.2 of the floor: {abs(above) < 0.2}")
print(f"repeat {repeat:.1f}, below 0.4: {repeat < 0.4}")

# %% [markdown]
# It does: 4.7 and 0.3. Why is 0.3 not nearer 0? "Look up the token that I have just seen" has two answers if that
# token occurs twice in the first part. We examine such positions separately.

# %% name="twice"
with torch.no_grad():
    losses = next_token_losses(model, fresh)[:, first:]  # (512, 7)
seen = fresh[:, first:-1]  # (512, 7), the tokens that are looked up
count = (fresh[:, None, :first] == seen[:, :, None]).sum(dim=-1)  # (512, 7, 12) -> (512, 7)
print("occurs there once: below 0.2:", bool(losses[count == 1].mean() < 0.2))
print("more than once:    above 1.0:", bool(losses[count > 1].mean() > 1.0))
print(f"more than once:    share of positions {(count > 1).float().mean():.2f}")

# %% [markdown]
# One position in nine, 0.11, is ambiguous for this model, and costs it more than 1 on average. The others cost less
# than 0.2. But how does the model copy?

# %% [markdown]
# ## Which head does it?
#
# `MultiHeadAttention` does not return its weights. But it passes them through its dropout layer, where PyTorch lets us
# listen: a **hook** is a function that is called with a layer's input.

# %% name="watch"
@torch.no_grad()
def watch(model, tokens):
    """The attention weights of all layers for tokens (B, T): (num_layers, B, num_heads, T, T)."""
    heard = []
    hooks = [
        layer.dropout.register_forward_pre_hook(lambda module, given: heard.append(given[0]))
        for layer in model.layers
    ]
    model(tokens)
    for hook in hooks:
        hook.remove()
    return torch.stack(heard)

# %% [markdown]
# We watch both layers on the fresh sequences, and draw the maps of the first sequence, beginning with layer 0. (The
# last token is left out, since it predicts nothing. Where a token occurs twice, its position follows in brackets.)
# Where will the head look?

# %% name="first-layer" shows="Map of attention weights, 19 tokens by 19. In the rows of the random part the weight lies mostly just left of the diagonal, on the token before. In the rows of the repeat it is spread thinly over the random part."
weights = watch(model, fresh[:, :-1])  # (2, 512, 1, 19, 19)
names = [str(token) for token in fresh[0, :-1].tolist()]
future = torch.ones(T, T).triu(diagonal=1).bool()
pictures.show_weights(
    weights[0, 0, 0], names, masked=future[:-1, :-1], title="Layer 0",
)

# %% [markdown]
# In the random part there is a stripe just below the diagonal: nearly every token looks at the one *before* it. Such a
# head is called a **previous-token head**. It writes into each token which token came before. (In the rows of the
# repeat it does something else, of little use in copying.)
#
# What can layer 1 do with that?

# %% name="second-layer" shows="Map of attention weights, 19 tokens by 19. In the rows of the repeat there is a stripe of weights near 1: each token looks into the random part, at the token that followed its own earlier copy. All other rows put their weight on the very first token."
pictures.show_weights(
    weights[1, 0, 0], names, masked=future[:-1, :-1], title="Layer 1",
)

# %% [markdown]
# In the rows of the repeat there is a stripe of weights near 1, far from the diagonal. Take any of these rows and find
# the same number in the random part: the weight lies on the token *after* it. That is the token to predict. (The rows
# above have nothing to look up. But their weights must sum to 1, and here the first token gets them. Such a token is
# called an **attention sink**; Xiao et al., 2023, found some in large models.)
#
# Layer 1 has an **induction head** (Olsson et al., 2022). Its query asks: which token had *me* before it? The keys can
# answer, because layer 0 has written into each token what came before. Together, the two heads implement the rule "A
# was followed by B, here is A again, so B is next".
#
# Follow one token through both heads. In the next figure, layer 1's arc goes from the token that asks to the key that
# it reads, and layer 0's arc continues from there. Choose a query in the repeat. Where does each arc end? Training kept
# a copy of the model before every tenth step: slide back to the first copy. Does one layer learn its job before the
# other?

# %% name="two-heads-live"
copies.append(model)  # after the last step
moments = torch.stack([watch(each, fresh[:1, :-1])[:, 0, 0] for each in copies])  # (26, 2, 19, 19)
loss_at = {10 * k: round(test(each)[1], 2) for k, each in enumerate(copies)}  # of the repeat
live.show_attention(moments, names, masked=future[:-1, :-1], maps="layer", losses=loss_at)

# %% [markdown]
# Layer 1 takes you from a token of the repeat to the token after its earlier copy. From there layer 0 goes one step
# back, to the copy itself. The loss falls while both learn their jobs, at about the same time.

# %% [markdown]
# ### Does this hold for all sequences?
#
# One picture shows one sequence. So we measure, over all 512 sequences, how much weight lies where we claim. For each
# query we name a position and gather the weight there.

# %% name="share"
def share(weights, queries, positions):
    """Each head's mean weight from queries (n,) to positions (B, n), in (B, num_heads, T, T)."""
    rows = weights[:, :, queries]  # (B, num_heads, n, T)
    # (B, n) -> (B, num_heads, n, 1)
    positions = positions[:, None, :, None].expand(-1, rows.shape[1], -1, -1)
    return rows.gather(-1, positions).mean(dim=(0, 2, 3))  # (num_heads,)


in_repeat = torch.arange(first, T - 1)
follower = fresh_start + torch.arange(repeated - 1) + 1  # (512, 7), after the earlier copy
in_random = torch.arange(1, first)
before = (in_random - 1).expand(len(fresh), -1)  # (512, 11), the previous token

# %% name="shares"
previous = share(weights[0], in_random, before).item()
induction = share(weights[1], in_repeat, follower).item()
print(f"layer 0, previous token: {previous:.1f}, above 0.5: {previous > 0.5}")
print(f"layer 1, token after the earlier copy, above 0.9: {induction > 0.9}")

# %% [markdown]
# Both claims hold. In the random part, layer 0 gives 0.8 of its weight to the token before. In the repeat, layer 1
# gives more than 0.9 of its weight to the one useful token.

# %% [markdown]
# ### Exercise 7.2 · Find a previous-token head
# 1 point · ★☆☆ · 5 minutes
#
# Measure, for each head, the mean weight that a token gives to the token before it. You need only the map. The first
# token has none before it and does not count. Return one number per head.

# %% name="exercise-7-2"
def my_previous_token_share(weights):
    """The mean weight on the previous token: (num_heads,) from weights (num_heads, T, T)."""
    ### BEGIN SOLUTION
    left = weights.diagonal(offset=-1, dim1=-2, dim2=-1)  # (num_heads, T - 1)
    return left.mean(dim=-1)  # (num_heads,)
    ### END SOLUTION

# %% name="check-7-2"
### BEGIN HIDDEN TESTS
assert check("7.2", my_previous_token_share).status == "right"
### END HIDDEN TESTS
check("7.2", my_previous_token_share)

# %% [markdown] tags=["solution"]
# **Why it works.** Rows are queries and columns are keys, so the weight on the previous token is one column left of the
# diagonal: offset -1. That diagonal has $T - 1$ entries, one for every token but the first.

# %% [markdown]
# ### Does copying need both heads?
#
# A map shows where a head looks, not whether it matters. So we remove one layer and see what is lost.

# %% name="take-out"
for gone in [0, 1]:
    maimed = copy.deepcopy(model)
    del maimed.layers[gone]
    print(f"without layer {gone}: repeat above 3: {test(maimed)[1] > 3}")

# %% [markdown]
# Whichever layer we remove, the loss on the repeat is above 3 again. Neither layer can copy alone: layer 1 reads what
# layer 0 has written.

# %% [markdown]
# **Question 7.2.** We train a model with *one* layer on the same task. Why can its head not find the token after the
# earlier copy?
#
# * **a** It can: with more training one layer suffices.
# * **b** The key of a token is made from that token alone. It does not say which token came before.
# * **c** A head can only look at one position, and here it would have to look at two.

# %% name="question-7-2"
answer("Q7.2", "b")

# %% [markdown]
# Let us see. Then we make the task easier and always copy from position 0 on: the earlier copy is always 12 positions
# back, and the token after it, the answer, is always 11 back.

# %% name="one-layer"
torch.manual_seed(123)
one_layer = AttentionOnly(vocabulary, T, num_layers=1)
train(one_layer, batches)
print("any start, one layer: repeat above 2:", test(one_layer)[1] > 2)

# %% name="one-layer-fixed-start"
fixed = torch.cat([batches[:, :, :first], batches[:, :, :repeated]], dim=-1)  # (250, 64, T)
fresh_fixed = torch.cat([fresh[:, :first], fresh[:, :repeated]], dim=-1)  # (512, T)
torch.manual_seed(123)
one_layer = AttentionOnly(vocabulary, T, num_layers=1)
train(one_layer, fixed[:150])
print("start 0, one layer: repeat below 0.2:", test(one_layer, fresh_fixed)[1] < 0.2)

# %% [markdown]
# With a fixed start one layer is enough: "look 11 positions back" is a question about positions, which a query can ask.
# With a random start, one layer is not enough: the task needs two heads, one after the other.

# %% [markdown]
# ## One head or two?
#
# What if each layer has two heads of half the size? Will they share the work? Width and batches stay the same.

# %% name="two-heads"
torch.manual_seed(123)
two_heads = AttentionOnly(vocabulary, T, num_heads=2)
history_two = train(two_heads, batches)
print("repeat below 0.4:", test(two_heads)[1] < 0.4)

# %% name="two-heads-curves" shows="Loss on the repeat over 250 steps for one head per layer and for two. Both drop steeply, the one with two heads 30 to 40 steps later. From step 200 on the curves lie nearly on each other."
pictures.show_curves(
    {"one head": curves(history)["repeat"], "two heads": curves(history_two)["repeat"]},
    x=range(10, 251, 10), x_label="step", y_label="loss",
    title="One run each: with two heads the loss falls later",
)

# %% [markdown]
# With two heads the loss drops later and less steeply, and here ends at about the same level. More heads are not
# always better. What do these heads look at?

# %% name="two-heads-shares"
weights = watch(two_heads, fresh[:, :-1])  # (2, 512, 2, 19, 19)
previous = share(weights[0], in_random, before)  # (2,), one number per head
induction = share(weights[1], in_repeat, follower)
print("layer 0, previous token above 0.6:", (previous > 0.6).tolist())
print("layer 1, token after the earlier copy above 0.7:", (induction > 0.7).tolist())

# %% [markdown]
# In layer 0 the heads differ: head 0 is a previous-token head, and head 1 is not. In layer 1 both do the same. Nobody
# assigned these jobs. With other seeds, heads may share the work differently: the random starting parameters decide
# which head does what.

# %% [markdown]
# ## Without the mask
#
# Chapter 3 said that a model that may see the future learns to copy, not to predict. Now we watch this happen. In our
# class the mask is a buffer; filled with `False`, it hides nothing.

# %% name="set-mask"
def set_mask(model, hidden):
    """Use another mask (T, T) in every layer, True where hidden."""
    for layer in model.layers:
        layer.mask.copy_(hidden)


torch.manual_seed(123)
cheat = AttentionOnly(vocabulary, T)
set_mask(cheat, torch.zeros(T, T).bool())

# %% [markdown]
# **Question 7.3.** What will happen to this model's loss on the random part, where every token is drawn at random?
#
# * **a** It will stay at the floor, $\ln 100$: what is random cannot be known.
# * **b** It will fall below the floor, towards 0.
# * **c** It will rise, since the future confuses the model.

# %% name="question-7-3"
answer("Q7.3", "b")

# %% name="train-without-mask" tags=["answers-Q7.3"]
history_cheat = train(cheat, batches[:60])
random_part, repeat = test(cheat)
print(f"random part {random_part:.1f}, below 0.1: {random_part < 0.1}")

# %% name="cheat-curves" shows="Losses over 60 steps without a mask. The random part falls from ln 100 to almost 0 within 40 steps and stays there. The repeat falls, too, but only to about 0.6." tags=["answers-Q7.3"]
pictures.show_curves(
    curves(history_cheat), x=range(10, 61, 10), x_label="step", y_label="loss",
    title="Without the mask",
)

# %% [markdown]
# Within forty steps the model "predicts" random numbers almost without error. Its loss, far below the floor, shows
# that it cheats. **No honest prediction has an expected loss below the floor.** If a loss looks too good, first ask
# what the model can see.
#
# Strangely, the repeat is now the harder part. It holds the one token that the model cannot peek at, the last: the
# input ends just before it. How well does the model predict that token, and what happens when the mask is back?

# %% name="cheat-exposed"
with torch.no_grad():
    last = next_token_losses(cheat, fresh)[:, -1].mean()
print("last token, above 1:", bool(last > 1))
set_mask(cheat, future)
print("with the mask back, random part above 6:", test(cheat)[0] > 6)

# %% [markdown]
# Where it cannot peek, it knows little. With the mask back it does worse than an untrained model: it is often sure
# but wrong. In real use there is no future to see, and almost all that it has learned is to look one position to the
# right.

# %% [markdown]
# ### Exercise 7.3 · The floor
# 2 points · ★★☆ · 10 minutes
#
# Tokens are rarely equally likely. If token $i$ occurs with probability $p_i$, and nothing else can be known, the best
# honest prediction gives token $i$ the probability $p_i$. Its average loss is the floor, $-\sum_i p_i \ln p_i$, also
# called the *entropy*. Compute it. Some $p_i$ may be 0: those tokens never occur and cost nothing.

# %% name="exercise-7-3"
def my_floor(probabilities):
    """The lowest average loss of an honest prediction, one number; probabilities (vocabulary,)."""
    ### BEGIN SOLUTION
    possible = probabilities[probabilities > 0]
    return -(possible * possible.log()).sum()
    ### END SOLUTION

# %% name="check-7-3"
### BEGIN HIDDEN TESTS
assert check("7.3", my_floor).status == "right"
### END HIDDEN TESTS
check("7.3", my_floor)

# %% [markdown] tags=["solution"]
# **Why it works.** The floor is the average of the losses $-\ln p_i$, weighted by the probabilities $p_i$. For 100
# equally likely tokens that is 100 times $\frac{1}{100} \ln 100$, our floor. The filter is needed because $0 \cdot \ln
# 0$ is computed as 0 times $-\infty$, which is `nan`.

# %% [markdown]
# ## Cross-attention that learns
#
# In chapter 6, German words queried English words, using vectors written by hand. Can cross-attention learn such
# vectors? Here is a small task with two sequences: eight letters come in, and the same letters go out in reverse order.
#
# The output asks. It has no letters yet, so each of its positions has a learned vector, from which its query is made.
# The letters answer.

# %% name="reverser"
class Reverser(nn.Module):
    """Scores for the letters of a sequence in reverse: (B, T, vocabulary) from (B, T)."""

    def __init__(self, vocabulary=26, length=8, width=32):
        super().__init__()
        self.letter_vectors = nn.Embedding(vocabulary, width)
        self.position_vectors = nn.Embedding(length, width)
        self.asking_vectors = nn.Embedding(length, width)
        self.attention = CrossAttention(width, num_heads=1)
        self.to_scores = nn.Linear(width, vocabulary)

    def both(self, letters):
        """The sequence that asks, (B, T, width), and the one that answers, of the same shape."""
        answers = self.letter_vectors(letters) + self.position_vectors.weight
        return self.asking_vectors.weight.expand_as(answers), answers

    def forward(self, letters):
        asks, answers = self.both(letters)
        return self.to_scores(self.attention(asks, answers, answers))  # (B, T, vocabulary)

# %% [markdown]
# We train for 300 steps with 32 random sequences each.

# %% name="train-reverser"
torch.manual_seed(123)
reverser = Reverser()
optimizer = torch.optim.AdamW(reverser.parameters(), lr=0.01)
for letters in with_bar(torch.randint(26, (300, 32, 8))):
    loss = F.cross_entropy(reverser(letters).transpose(1, 2), letters.flip(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
word = torch.tensor([[ord(letter) - ord("a") for letter in "notebook"]])  # (1, 8)
print("".join(chr(number + ord("a")) for number in reverser(word).argmax(dim=-1)[0].tolist()))

# %% name="reverser-picture" shows="Map of attention weights with eight rows, the letters of koobeton, and eight columns, the letters of notebook. Each row has one cell near 1; together they form the diagonal from the top right to the bottom left."
pictures.show_weights(
    reverser.attention.weights(*reverser.both(word))[0], list("koobeton"),
    key_tokens=list("notebook"), title="The output asks, the word answers",
)

# %% [markdown]
# The first output letter asks the last input letter, the second the one before it, and so on. This is like chapter 6's
# map, but learned. The model tells the o's of "notebook" apart: these queries ask for a position, not for a letter. (So
# it could not reverse nine letters: it has learned eight questions.) Aligning two sequences by attention, and seeing
# the alignment in the weights, is older than the Transformer: Bahdanau et al., 2015.

# %% [markdown]
# ## A small data set, and dropout
#
# There is a second way to fall below the floor. So far, each sequence has been new. What if we have only 128, and show
# them again and again? The mask is in place, and nothing leaks.

# %% name="small-data"
torch.manual_seed(3)
small, _ = repeats(128)
again = small[torch.randint(128, (120, 32))]  # (120, 32, T), each sequence about 30 times

# %% name="dropout"
learners = {}
for dropout in [0.0, 0.5]:
    torch.manual_seed(123)
    learners[dropout] = AttentionOnly(vocabulary, T, dropout=dropout)
    train(learners[dropout], again)

# %% name="dropout-losses"
print(f"floor {math.log(100):.1f}")
for dropout, learner in learners.items():
    print(f"dropout {dropout}: seen {test(learner, small)[0]:.1f}, fresh {test(learner)[0]:.1f}")

# %% [markdown]
# These are losses on the random part. Without dropout, sequences that the model has seen cost 0.6, far below the floor
# of 4.6. Fresh ones cost 10.6, far *above* it: a model that has learned nothing would do better. This one has memorised
# its 128 sequences. That is called **overfitting**.
#
# Dropout makes memorising harder, because about half of the weights are missing, different ones each time. The two
# losses move closer together, to 1.6 and 6.7. But dropout is no cure: on fresh sequences the model is still above the
# floor. What worked before was *more data*. With 16,000 different sequences there was nothing to gain from memorising,
# and the model found the rule.

# %% name="repeat-small"
above = {dropout: test(learner)[1] > 3 for dropout, learner in learners.items()}
print("repeat, fresh, above 3:", above)

# %% [markdown]
# Neither of these models has found it: they cannot copy in fresh sequences. (120 steps of 32 are too few for that in
# any case.)

# %% [markdown]
# ## A model that writes
#
# Finally, we train on tokens that mean something. Our text is an old English nursery rhyme in which every verse repeats
# the one before and adds a part in front. A short loop builds it.

# %% name="rhyme"
lines = [
    "the malt\nthat lay in ", "the rat\nthat ate ", "the cat\nthat killed ",
    "the dog\nthat worried ",
    "the cow with the crumpled horn\nthat tossed ", "the maiden all forlorn\nthat milked ",
    "the man all tattered and torn\nthat kissed ", "the priest all shaven and shorn\nthat married ",
    "the cock that crowed in the morn\nthat woke ", "the farmer sowing his corn\nthat kept ",
]
verses = ["the house that Jack built.\n\n"]
for line in lines:
    verses.append(line + verses[-1])
text = "".join("This is " + verse for verse in verses)
print(len(text))
print("This is " + verses[3])

# %% [markdown]
# The rhyme has 1,925 characters; its fourth verse is printed above. As in chapter 3, each character is one token,
# numbered by its position in the sorted list.

# %% name="encode"
characters = sorted(set(text))
number_of = {character: number for number, character in enumerate(characters)}


def encode(text):
    """The numbers of the characters in a text, as a list."""
    return [number_of[character] for character in text]


def decode(numbers):
    """The text that a list of numbers stands for."""
    return "".join(characters[number] for number in numbers)


print(repr("".join(characters)))

# %% [markdown]
# There are 27 different characters, including space and line break. To write, a model gives probabilities for the next
# character; we draw one, append it, and ask again. To draw, we pick a random number between 0 and 1 and see in which
# character's share it falls.

# %% name="generate"
context_length = 32


@torch.no_grad()
def generate(model, start, length):
    """The text start, followed by `length` characters drawn from the model."""
    numbers = encode(start)
    for _ in range(length):
        window = torch.tensor([numbers[-context_length:]])  # (1, T), as much as the model can see
        probabilities = torch.softmax(model(window)[0, -1], dim=-1)  # (vocabulary,)
        shares = probabilities.cumsum(dim=0)[:-1]  # where each share but the last ends
        numbers.append(int((shares < torch.rand(1)).sum()))
    return decode(numbers)

# %% [markdown]
# One changed letter can change all that follow. To make this model write the same text on your machine as here, we use
# 64 bits per number instead of 32. (The runs above did not need that: they printed only what does not depend on the
# last digits.)

# %% name="before-training"
torch.manual_seed(123)
torch.set_default_dtype(torch.float64)
writer = AttentionOnly(len(characters), context_length, num_heads=4)
torch.set_default_dtype(torch.float32)
opening = "This is the house that Jack built.\n\nThis is"
print(generate(writer, opening, 100))

# %% [markdown]
# Untrained, it continues the opening with jumbled letters. Now we train for 200 steps with 16 windows each, cut from
# the rhyme at random positions. A window has 33 characters, since each of 32 predictions needs a target.

# %% name="train-writer"
numbers = torch.tensor(encode(text))
torch.manual_seed(123)
starts = torch.randint(len(numbers) - context_length, (200, 16, 1))
history = train(writer, numbers[starts + torch.arange(context_length + 1)])  # (200, 16, 33)
print(f"loss at first {history[0].mean():.0f}")
print("at the end, below 0.3:", bool(history[-20:].mean() < 0.3))

# %% name="after-training"
torch.manual_seed(123)
print(generate(writer, opening, 200))

# %% [markdown]
# The loss has fallen from 3 to below 0.3. The model has learned, with some mistakes, to break lines, to spell and to
# put the verses together. For its first 32 characters it still sees some of our opening; from then on it sees only what
# it has written itself.
#
# But we know what to ask about such a loss. Has the model learned a rule, or memorised the text? Here is a sentence
# that is not in the rhyme but uses only words from it.

# %% name="another-sentence"
@torch.no_grad()
def loss_of(sentence):
    """The mean loss per character of a sentence of at most 33 characters."""
    return next_token_losses(writer, torch.tensor([encode(sentence)])).mean().item()


print("in the rhyme, below 0.5:    ", loss_of("the cow with the crumpled horn") < 0.5)
print("not in the rhyme, above 1:  ", loss_of("the maiden kissed the farmer") > 1)

# %% [markdown]
# The model has mostly memorised the text. For a text this short that is to be expected: this is a small data set again.
# A model like GPT-2 is much larger than ours and has read much more.

# %% [markdown]
# ### Exercise 7.4 · Temperature
# 1 point · ★☆☆ · 5 minutes
#
# Models that write are often given a **temperature**: the scores are divided by it before softmax. Below 1 the
# likeliest token gains, and the text gets safe and dull; above 1 unlikely tokens gain, and the text gets wild. Compute
# the probabilities. Beware: dividing by a small temperature makes scores large.

# %% name="exercise-7-4"
def my_probabilities(scores, temperature):
    """Probabilities (..., vocabulary), each row summing to 1, from scores (..., vocabulary)."""
    ### BEGIN SOLUTION
    return torch.softmax(scores / temperature, dim=-1)
    ### END SOLUTION

# %% name="check-7-4"
### BEGIN HIDDEN TESTS
assert check("7.4", my_probabilities).status == "right"
### END HIDDEN TESTS
check("7.4", my_probabilities)

# %% [markdown] tags=["solution"]
# **Why it works.** It is like the division by $\sqrt{d_k}$ in chapter 2: differences between scores shrink or grow, and
# with them the ratios between probabilities. Near 0 the largest score gets everything, as with `argmax`. At very high
# temperatures all tokens become equally likely.

# %% [markdown]
# Your exercises so far:

# %% name="progress"
progress(7)

# %% [markdown]
# ## Takeaways
#
# | loss | what it may mean |
# | --- | --- |
# | at the floor, $\ln$ of the number of equally likely tokens | the model has learned all that can be known, or nothing yet |
# | below the floor, even on fresh data | the model sees the answer: check the mask |
# | below the floor on seen data, above it on fresh data | the model has memorised: use more data, then dropout |
# | a steep drop after a slow start | several parts had to work together |
#
# * Training produces heads that we did not design. Together, a **previous-token head** and an **induction head** can
#   copy; the second reads what the first has written. [Chapter 11](11_a_model_that_speaks.ipynb) finds both in a model
#   that speaks.
# * A map shows where a head looks. To see what it contributes, remove it and measure.
# * Always test on data that the model was not trained on, and always know the floor.
#
# **Next.** [Chapter 8](08_a_real_model.ipynb) opens a model that others have trained, on far more text, and asks what
# its heads look at. All chapters: [the course's contents](../README.md#chapters).
