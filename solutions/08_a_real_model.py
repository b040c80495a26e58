# ---
# jupyter:
#   course:
#     summary: pretrained weights in your class; what attention does not say
# ---

# %% [markdown]
# # Chapter 8 · A real model
#
# **After this chapter you can**
#
# * put your own attention class inside a model trained by others, and test that the weights are loaded correctly;
# * look at all 72 heads of a model, and test the story that one head's picture tells;
# * say what attention weights explain, and what they do not.
#
# **Time.** About 90 minutes, exercises included. **You need** chapters 1 to 6, above all `CrossAttention`, and a
# network connection once, to download 87 MiB that only this chapter needs.
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

# %% [markdown]
# This chapter needs two small packages: `safetensors` reads weight files, and `tokenizers` cuts text into tokens. The
# next cell installs them if needed.

# %% name="packages"
if not all(map(importlib.util.find_spec, ["safetensors", "tokenizers"])):
    print("Installing two small packages ...")
    # %pip install -q --no-deps safetensors==0.8.0 tokenizers==0.23.3

# %% name="imports"
import copy
import math

import torch
import torch.nn.functional as F
from safetensors.torch import load_file
from tokenizers import BertWordPieceTokenizer
from torch import nn

from course_utils import live, pictures, pretrained
from course_utils.attention import CrossAttention
from course_utils.checking import answer, check, hint, progress, quiz, solution
from course_utils.validation import check_numbers

# %% [markdown]
# ## A file from a stranger
#
# The model is called `all-MiniLM-L6-v2`. It is an **encoder**, a small relative of BERT (Devlin et al., 2019): it reads
# a whole sentence, in both directions, and returns a context vector for every token. The next cell downloads it once,
# which may take a minute. If that fails, the cell says so, and this chapter must wait.

# %% name="download"
folder = pretrained.download()
for name in pretrained.FILES:
    print(f"{name}: {(folder / name).stat().st_size / 2**20:.1f} MiB")

# %% [markdown]
# The files are 86.7 MiB of weights and a vocabulary of 0.2 MiB, from Hugging Face, a hub for models. If the hub cannot
# be reached, they come from a Python package uploaded by a stranger.
#
# Can we use a stranger's file? Yes, without trusting it. A SHA-256 **digest** reduces a file to 64 characters, and
# nobody knows how to make a second file with that digest. The course knows the digests of the originals, and
# `download` keeps no other file. Nor does it run any code: one file is text; the other, in the safetensors format,
# holds only names and numbers.

# %% [markdown]
# ## Words become numbers
#
# An article among the course's sources follows the sentence *The cat chased the mouse because it was hungry* through
# BERT. The article's weight matrix has 11 rows and 11 columns, but the sentence has nine words. What are the other two?

# %% name="tokenize"
tokenizer = BertWordPieceTokenizer(str(folder / "vocab.txt"), lowercase=True)
hungry = "The cat chased the mouse because it was hungry"
encoded = tokenizer.encode(hungry)
print(len(encoded.tokens), encoded.tokens)

# %% [markdown]
# There are 11 tokens, as in the article, whose BERT has the same vocabulary. The tokenizer has lowercased the text and
# added `[CLS]` at the start and `[SEP]` at the end, to mark where it begins and ends. We shall meet both again. Each
# token has a number, as in chapter 3. What happens to a word outside the vocabulary?

# %% name="pieces"
print(tokenizer.encode("attention, transformers and tokenization").tokens)

# %% [markdown]
# "tokenization" has been split into `token` and `##ization`; the `##` says that this piece continues a word. The comma
# is a separate token.

# %% [markdown]
# ## What is in the file
#
# The weights are stored as a dictionary of named tensors. Here are those of the last layer.

# %% name="tensor-names"
tensors = load_file(folder / "model.safetensors")
print(len(tensors), "tensors, of which in the last layer:")
for name, tensor in tensors.items():
    if "layer.5" in name:
        print(name.removeprefix("encoder.layer.5."), tuple(tensor.shape))

# %% [markdown]
# Layer 5 is the last of six. Half of these tensors are familiar: `query`, `key` and `value` are 384 × 384 with a bias
# of 384, and `attention.output.dense` is our `out_proj`.

# %% [markdown]
# ## Around attention
#
# What does a layer do besides attention? First, a small **network**, usually called the *feed-forward network*,
# processes each token separately: it widens the vector to 1536 numbers, applies `GELU` (which lets large positive
# numbers through and nearly stops large negative ones), and reduces it to 384. Attention moves information between
# tokens; the network processes what arrived.
#
# Second, attention and the network each *add* their result to their input instead of replacing it. After each sum,
# `LayerNorm` rescales the vectors. If $x$ holds the vectors of all tokens, a layer computes
#
# $$x' = \mathrm{norm}_1(x + \mathrm{attention}(x)), \qquad
# \mathrm{output} = \mathrm{norm}_2(x' + \mathrm{network}(x'))$$
#
# Here is such a layer, with chapter 6's class. Queries, keys and values all come from the same `x`.

# %% name="layer-class"
class EncoderLayer(nn.Module):
    """Attention, then a small network on each token alone: (B, T, d_model) to (B, T, d_model).

    mask: as in CrossAttention.
    """

    def __init__(self, d_model, num_heads, d_inner):
        super().__init__()
        self.attention = CrossAttention(d_model, num_heads)
        self.norm_1 = nn.LayerNorm(d_model, eps=1e-12)
        self.network = nn.Sequential(
            nn.Linear(d_model, d_inner), nn.GELU(), nn.Linear(d_inner, d_model)
        )
        self.norm_2 = nn.LayerNorm(d_model, eps=1e-12)

    def forward(self, x, mask=None):
        x = self.norm_1(x + self.attention(x, x, x, mask))  # (B, T, d_model)
        return self.norm_2(x + self.network(x))  # (B, T, d_model)

# %% [markdown]
# The two lines of `forward` are the two formulas. There is no causal mask: an encoder does not predict the next token,
# so it may read all tokens.
#
# The encoder looks up each token's vector, adds a vector for its position, and applies six layers. (BERT also reads
# pairs of texts, marked as segments 0 and 1. Our text is always segment 0.)

# %% name="encoder-class"
class Encoder(nn.Module):
    """From token numbers (B, T) to context vectors (B, T, d_model); a single sequence is (T,).

    The sizes are those of all-MiniLM-L6-v2. mask: as in CrossAttention; for padding (B, 1, T).
    """

    def __init__(self, num_layers=6, num_heads=12, d_model=384, d_inner=1536):
        super().__init__()
        self.words = nn.Embedding(30522, d_model)
        self.positions = nn.Embedding(512, d_model)
        self.segments = nn.Embedding(2, d_model)
        self.norm = nn.LayerNorm(d_model, eps=1e-12)
        self.layers = nn.ModuleList(
            EncoderLayer(d_model, num_heads, d_inner) for _ in range(num_layers)
        )

    def embed(self, numbers):
        """The vectors that enter the first layer: word + position + segment, (B, T, d_model)."""
        check_numbers(numbers, self.words, self.positions)
        positions = self.positions.weight[:numbers.shape[-1]]  # (T, d_model)
        x = self.words(numbers) + positions + self.segments.weight[0]  # all in the first segment
        return self.norm(x)  # (B, T, d_model)

    def forward(self, numbers, mask=None):
        x = self.embed(numbers)  # (B, T, d_model)
        for layer in self.layers:
            x = layer(x, mask)  # (B, T, d_model)
        return x

# %% [markdown]
# We still have to load the file's tensors. Its names differ from ours, so we translate them.

# %% name="our-name"
def our_name(name):
    """What Encoder calls the tensor that the file calls `name`."""
    parts = {  # theirs and ours; of two names that match, the longer one comes first
        "encoder.layer.": "layers.",
        "embeddings.word_embeddings": "words",
        "embeddings.position_embeddings": "positions",
        "embeddings.token_type_embeddings": "segments",
        "embeddings.LayerNorm": "norm",
        "attention.self.query": "attention.W_query",
        "attention.self.key": "attention.W_key",
        "attention.self.value": "attention.W_value",
        "attention.output.dense": "attention.out_proj",
        "attention.output.LayerNorm": "norm_1",
        "intermediate.dense": "network.0",
        "output.dense": "network.2",
        "output.LayerNorm": "norm_2",
    }
    for theirs, ours in parts.items():
        name = name.replace(theirs, ours)
    return name

# %% [markdown]
# So the `query.weight` from above becomes `layers.5.attention.W_query.weight`. No matrix is transposed: those in the
# file also belong to `nn.Linear` layers.

# %% name="load-encoder"
def load_encoder(path):
    """The pretrained encoder, ready to use, from a file in the safetensors format."""
    unused = ["embeddings.position_ids", "pooler.dense.weight", "pooler.dense.bias"]
    tensors = load_file(path)
    encoder = Encoder()
    encoder.load_state_dict({our_name(name): tensors[name] for name in tensors.keys() - unused})
    return encoder.eval().requires_grad_(False)


encoder = load_encoder(folder / "model.safetensors")
print(f"{sum(parameter.numel() for parameter in encoder.parameters()):,}")

# %% [markdown]
# We have loaded 22,565,376 numbers. Three tensors were left out: a list of positions, and the weight and bias of an
# unused layer. A missing or unexpected name, or a wrong shape, would have raised an error. You now have a real model,
# in about 80 lines around your own attention.

# %% [markdown]
# ## Does it work?
#
# The model was last trained for one task: two texts that belong together, such as a question and its answer, should get
# vectors that point in the same direction. A sentence's vector is the mean of its tokens' context vectors. The
# **cosine** of the angle between two vectors, their dot product after scaling both to length 1, measures how alike they
# are: 1 for the same direction, 0 for a right angle.

# %% name="similar"
def sentence_vector(sentence, encoder=encoder):
    """The mean of the context vectors of a sentence: (384,)."""
    numbers = torch.tensor(tokenizer.encode(sentence).ids)  # (T,)
    return encoder(numbers).mean(dim=0)  # (T, 384) -> (384,)


cat = sentence_vector("The cat chased the mouse")
for other in ["A kitten ran after a rodent", "The bank raised its interest rates"]:
    print(f"{F.cosine_similarity(cat, sentence_vector(other), dim=0):.3f}  {other}")

# %% [markdown]
# The kitten gets 0.645 and the bank 0.021. The first sentence shares meaning but no word with ours; the second shares a
# word, "the", but no meaning. So here meaning outweighs shared words. (In the course's tests every layer agrees to 1e-5
# with `transformers`, the usual library for such models.)
#
# Does it also matter who chases whom?

# %% name="roles"
swapped = sentence_vector("The mouse chased the cat")
print(f"{F.cosine_similarity(cat, swapped, dim=0):.3f}")

# %% [markdown]
# The cosine is 0.983: here this model hardly notices who chases whom.

# %% [markdown]
# ### A mistake that raises no error
#
# All query matrices are square, 384 × 384, so they fit even when transposed. What if we had loaded them that way?

# %% name="transposed"
broken = copy.deepcopy(encoder)
for layer in broken.layers:
    layer.attention.W_query.weight.copy_(layer.attention.W_query.weight.T.clone())
texts = [
    "The cat chased the mouse", "A kitten ran after a rodent", "The bank raised its interest rates",
]
cat, kitten, bank = [sentence_vector(text, broken) for text in texts]
print(f"kitten {F.cosine_similarity(cat, kitten, dim=0):.3f}")
print(f"bank {F.cosine_similarity(cat, bank, dim=0):.3f}")

# %% [markdown]
# There is no error, and the result does not even look absurd: 0.503 for the kitten is still more than 0.189 for the
# bank. So a plausible result does not show that the weights are loaded correctly; comparing every layer with the
# original does.

# %% [markdown]
# ### Several sentences at once
#
# A batch needs sentences of equal length, so the tokenizer pads with `[PAD]`. It also says which tokens are padding. We
# have to invert its mask: for the tokenizer, 1 means keep; for `CrossAttention`, `True` means hide.

# %% name="padding"
tokenizer.enable_padding()
pair = tokenizer.encode_batch([hungry, "The cat slept"])
tokenizer.no_padding()
is_padding = torch.tensor([sentence.attention_mask for sentence in pair]) == 0  # (B, T)
print(pair[1].tokens)
print(is_padding[1])

# %% [markdown]
# The second sentence has 5 real tokens and 6 of padding. Do these 5 get the same vectors as without padding?

# %% name="padded-batch"
numbers = torch.tensor([sentence.ids for sentence in pair])  # (B, T)
alone = encoder(numbers[1, :5])  # (5,) -> (5, 384)
with_mask = encoder(numbers, is_padding[:, None, :])  # (B, T), (B, 1, T) -> (B, T, 384)
without = encoder(numbers)
print("with the mask, the same up to 1e-5:", bool((with_mask[1, :5] - alone).abs().max() < 1e-5))
print("without it:", bool((without[1, :5] - alone).abs().max() < 1e-5))

# %% [markdown]
# With the mask they do: `True`. Without it, every token silently mixes in some padding: `False`.

# %% [markdown]
# ### Exercise 8.1 · The vectors of a batch of sentences
# 2 points · ★★☆ · 10 minutes
#
# `sentence_vector` takes the mean over all tokens. In a batch, that mean must leave out the padding. Compute it for a
# batch of context vectors. `is_padding` is `True` at padding, which may be anywhere, and every sentence has at least
# one real token.

# %% name="exercise-8-1"
def my_sentence_vectors(context, is_padding):
    """Means over the real tokens: (B, d) from context vectors (B, T, d) and is_padding (B, T)."""
    ### BEGIN SOLUTION
    kept = (~is_padding).unsqueeze(-1)  # (B, T, 1)
    return (context * kept).sum(dim=1) / kept.sum(dim=1)  # (B, d) / (B, 1) -> (B, d)
    ### END SOLUTION

# %% name="check-8-1"
### BEGIN HIDDEN TESTS
assert check("8.1", my_sentence_vectors).status == "right"
### END HIDDEN TESTS
check("8.1", my_sentence_vectors)

# %% [markdown] tags=["solution"]
# **Why it works.** Padding is multiplied by 0, and each sum is divided by the number of tokens in *its* sentence.
# `mean(dim=1)` would divide by $T$, the length of the longest one.

# %% [markdown]
# ## What does "it" look at?
#
# The article explains its choice of sentence: "it" stands for the cat, and the model needs to give "cat" more attention
# than other words. But the article's layer is untrained and cannot show that. Ours is trained.
#
# We collect the weights of all heads, layer by layer.

# %% name="all-weights"
def all_weights(encoder, numbers):
    """The weights of every head for one sequence (T,): (num_layers, num_heads, T, T)."""
    x, weights = encoder.embed(numbers), []
    for layer in encoder.layers:
        weights.append(layer.attention.weights(x, x))  # (num_heads, T, T)
        x = layer(x)  # (T, d_model)
    return torch.stack(weights)


weights = all_weights(encoder, torch.tensor(encoded.ids))
print(weights.shape)

# %% [markdown]
# With 6 layers of 12 heads each, we have 72 matrices of 11 × 11. From each we need two numbers in the row of "it".

# %% name="look"
def look(sentence, query, *keys):
    """How much `query` attends to each of `keys`: a tensor (num_layers, num_heads) for each key."""
    encoded = tokenizer.encode(sentence)
    weights = all_weights(encoder, torch.tensor(encoded.ids))  # (num_layers, num_heads, T, T)
    place = encoded.tokens.index
    return [weights[:, :, place(query), place(key)] for key in keys]


cat, mouse = look(hungry, "it", "cat", "mouse")  # (6, 12) each
print(f"cat {cat[5, 11]:.3f}, mouse {mouse[5, 11]:.3f}")

# %% [markdown]
# In head 11 of the last layer, "it" gives 0.493 to "cat" and 0.300 to "mouse". Here is the whole head.

# %% name="head-picture" shows="Heat map of one head, eleven tokens as queries and the same eleven as keys. Two columns stand out, cat and mouse. In the row of it, the cell of cat is the brightest, at about 0.49, and that of mouse comes second, at 0.30."
pictures.show_weights(
    weights[5, 11], encoded.tokens, title="Layer 5, head 11",
)

# %% [markdown]
# In the row of "it", the brightest cell is "cat". It is tempting to add a caption: *the model has understood who was
# hungry.*
#
# Has it? Many articles would end here. We ask three more questions. Do other heads say the same? Does this head say
# something else when it should? And is the head about "it" at all?

# %% [markdown]
# ### Do other heads say the same?
#
# We know what every head gives to the cat and the mouse. In how many heads is the cat ahead?

# %% name="how-many-heads"
print("heads that prefer cat:", int((cat > mouse).sum()), "of", cat.numel())

# %% [markdown]
# The cat leads in 31 of 72; the other 41 prefer the mouse. We picked head 11 of the last layer because it agreed with
# us. With 72 heads to pick from, some head nearly always agrees.

# %% [markdown]
# ### Does it change its mind?
#
# Now replace "hungry" with "slow". Who is slow? Most readers would say the mouse.
#
# **Question 8.1.** In layer 5, head 11, "it" prefers "cat" to "mouse". If this head finds what "it" stands for, what
# should it do with "slow"?
#
# * **a** Stay with the cat, since eight of nine words are unchanged.
# * **b** Turn to the mouse.
# * **c** Give both the same weight.

# %% name="question-8-1"
answer("Q8.1", "b")

# %% [markdown]
# Let us see.

# %% name="slow"
slow = hungry.replace("hungry", "slow")  # change this word as you like and run the cell again
cat_slow, mouse_slow = look(slow, "it", "cat", "mouse")
print(slow)
print(f"cat {cat_slow[5, 11]:.3f}, mouse {mouse_slow[5, 11]:.3f}")

# %% [markdown]
# The head gives 0.470 and 0.289, so it stays with the cat. A comparison like this, in which we know beforehand whether
# the answer should change, is a **control**. This head fails it. How do the other 71 do?

# %% name="turned"
before, after = cat > mouse, cat_slow > mouse_slow  # (6, 12) each: does the head prefer the cat?
print("same answer:", int((before == after).sum()))
print("from mouse to cat:", (~before & after).nonzero().tolist())
for layer, head in (before & ~after).nonzero().tolist():
    numbers = [table[layer, head].item() for table in (cat, mouse, cat_slow, mouse_slow)]
    print("from cat to mouse:", [layer, head], "{:.4f} {:.4f}, then {:.4f} {:.4f}".format(*numbers))

# %% [markdown]
# Of 72 heads, 66 give the same answer to both sentences. Two turn the wrong way (printed as layer and head). Four turn
# the right way, but then the mouse leads by less than a hundredth. (None of the six is in layer 0, and none could be:
# there "it" and "cat" are looked-up vectors that know nothing of other words.)

# %% [markdown]
# ### Exercise 8.2 · Heads that turn
# 2 points · ★★☆ · 10 minutes
#
# Find the heads that clearly turn: those that prefer the first word before the change and the second word after it,
# each time by more than `margin`. Return `True` for every head that turns in this direction.

# %% name="exercise-8-2"
def my_turning_heads(first_before, second_before, first_after, second_after, margin):
    """True for heads that turn from the first word to the second; all (num_layers, num_heads)."""
    ### BEGIN SOLUTION
    return (first_before - second_before > margin) & (second_after - first_after > margin)
    ### END SOLUTION

# %% name="check-8-2"
### BEGIN HIDDEN TESTS
assert check("8.2", my_turning_heads).status == "right"
### END HIDDEN TESTS
check("8.2", my_turning_heads)

# %% [markdown] tags=["solution"]
# **Why it works.** Both differences must be larger than the margin, in opposite directions. Comparing *absolute*
# differences would also find heads that turn the wrong way, and heads that do not turn at all.

# %% [markdown]
# ### Six sentences
#
# Perhaps we were unlucky with one word. So here are six sentences, each with the noun that "it" stands for, and the
# other noun. The last two are a classic pair (Levesque et al., 2012). For each, we print what head 11 of the last layer
# gives to the right and the wrong noun, and how many heads prefer the right one.

# %% name="six-answers"
trophy = "The trophy did not fit in the suitcase because it was too"
controls = [  # sentence, what "it" stands for, the other noun
    (hungry, "cat", "mouse"),
    ("The cat chased the mouse because it was slow", "mouse", "cat"),
    ("The mouse fled from the cat because it was scared", "mouse", "cat"),
    ("The cat catches a rat because it was hungry", "cat", "rat"),
    (f"{trophy} big", "trophy", "suitcase"),
    (f"{trophy} small", "suitcase", "trophy"),
]

answers = []  # one (6, 12) table per sentence: does the head prefer the right noun?
for sentence, right, wrong in controls:
    to_right, to_wrong = look(sentence, "it", right, wrong)
    answers.append(to_right > to_wrong)
    number = int(answers[-1].sum())
    print(f"{right} {to_right[5, 11]:.3f}, {wrong} {to_wrong[5, 11]:.3f}, heads: {number}")

# %% [markdown]
# Head 11 is right for hungry, scared and big, and wrong for slow, small and the rat: three of six. For "too big" and
# "too small" it gives the same answer, the trophy. Of all 72 heads, 31, 43, 43, 33, 38 and 35 are right: about half
# each time.
#
# Each head below has the colour of the noun it prefers. Click the word marked ⇄. Which heads change?

# %% name="six-live"
def heads_of(sentence):
    """All weights of a sentence, (num_layers, num_heads, T, T), and its T tokens."""
    encoded = tokenizer.encode(sentence)
    return all_weights(encoder, torch.tensor(encoded.ids)), encoded.tokens


changes = ["hungry", "slow", "scared", "a rat", "too big", "too small"]
cases = {
    change: (*heads_of(sentence), *nouns)
    for change, (sentence, *nouns) in zip(changes, controls)
}
live.show_preferences(cases, "it", layer=5, head=11)

# %% [markdown]
# Nearly every head keeps its noun. Those with ⇄ change: six for "slow", one for "small". Is any head always right?
#
# **Question 8.2.** Suppose that all 72 heads were coins, tossed once for each of the six sentences. How many would you
# expect to be right six times?
#
# * **a** None.
# * **b** About one.
# * **c** About twelve.

# %% name="question-8-2"
answer("Q8.2", "b")

# %% [markdown]
# How do the heads do?

# %% name="always-right"
answers = torch.stack(answers)  # (6 sentences, 6 layers, 12 heads)
right_of_six = answers.sum(dim=0)  # (6, 12)
counts = torch.bincount(right_of_six.flatten(), minlength=7)  # heads with 0, 1, ... 6 right
print(counts.tolist(), "heads;", int(answers.sum()), "of", answers.numel(), "answers are right")

# %% [markdown]
# No head is right six times. Three get five right, and 35 get three. In total 223 of 432 answers are right. How would
# 72 coins do, tossed six times each?

# %% name="coins-picture" shows="Two rows of points over the number of right answers, from zero to six. Both are hills with the top at three. The heads' hill is higher and narrower: 35 heads have three right, where 22.5 coins would, and no head has none or all six." tags=["answers-Q8.2"]
coins = [72 * math.comb(6, k) / 2**6 for k in range(7)]
pictures.show_curves(
    {"72 heads": counts, "72 coins": coins},
    x_label="right answers of six", y_label="how many", joined=False,
    title="Heads against coins",
)

# %% [markdown]
# The heads are no better than coins. They crowd around three even more than coins do, since most heads do not react to
# a changed word: of two sentences that differ only in that word, such a head gets one right whatever it prefers. We
# have two such pairs.

# %% [markdown]
# ### Is it about "it" at all?
#
# Look at the picture of the head again: it has two bright columns, through *all* rows. Which other tokens look at the
# cat?

# %% name="every-query"
place = encoded.tokens.index
for token, row in zip(encoded.tokens, weights[5, 11]):
    print(f"{token:8} cat {row[place('cat')]:.3f}, mouse {row[place('mouse')]:.3f}")

# %% [markdown]
# All of them do. The final `[SEP]`, which stands for no noun, gives 0.478 to "cat" and 0.302 to "mouse", almost like
# "it". Here the head collects nouns, whichever token asks, and that fits the model's task: to capture what a sentence
# is about.
#
# Every number in the row of "it" was right. The caption was unfounded. We had read one row of eleven, in one head of
# 72, for one sentence.

# %% [markdown]
# ## All 72 heads
#
# What do the heads do, then? Here are small maps of them all for the first sentence; the colour of a frame says what the
# head mostly reads. In which layers are the heads that read `[CLS]`? Then choose a layer and a head to enlarge.

# %% name="all-heads-live"
live.show_all_heads(weights, encoded.tokens, layer=0, head=2)

# %% [markdown]
# A few patterns recur, most often a bright column on the left, that of `[CLS]`, nearly always in layers 1 to 4. The
# enlarged head, layer 0, head 2, looks at the previous token; positions alone suffice for that.
#
# Try to find the head that looks at the *next* token; it is in layer 1. Then compare layer 5, head 11, our noun head,
# with its neighbours: is it the only one?

# %% [markdown]
# Now try your own sentence: type it, press Enter, and the maps change. (This needs the model, so run the cell first.)

# %% name="sentence-live"
beside = weights, encoded.tokens  # the first sentence
live.try_sentence(heads_of, "The trophy is too big", layer=5, head=11, beside=beside)

# %% [markdown]
# What you saw in one sentence may be missing from the next. Does your favourite head keep its pattern?

# %% [markdown]
# ### Measuring patterns
#
# Let us measure instead of judging by eye. For each head, how much weight does a token give, on average, to the token
# before it, the one after it, itself, `[CLS]`, and `[SEP]`? A pattern in one sentence may be an accident, so we average
# over all six.

# %% name="patterns"
def patterns(weights):
    """Each head's mean weight on five targets: {target: (num_layers, num_heads)}."""
    along = lambda offset: weights.diagonal(offset, dim1=-2, dim2=-1).mean(dim=-1)
    return {
        "token before": along(-1), "itself": along(0), "token after": along(1),
        "[CLS]": weights[..., 0].mean(dim=-1), "[SEP]": weights[..., -1].mean(dim=-1),
    }


sentences = [torch.tensor(tokenizer.encode(sentence).ids) for sentence, _, _ in controls]
found = [patterns(all_weights(encoder, numbers)) for numbers in sentences]
for name in found[0]:
    share = torch.stack([one[name] for one in found]).mean(dim=0)  # (6, 12), mean over sentences
    layer, head = divmod(share.argmax().item(), 12)
    many = int((share > 0.5).sum())
    print(f"{name:12} more than half: {many:2}  most: {share.max():.3f} in {layer, head}")

# %% [markdown]
# Layer 0, head 2 gives nearly all its weight, 1.000, to the token before. Layer 1, head 8 gives 0.572 to the token
# after. But 32 of the 72 heads give more than half of their attention to `[CLS]`; the strongest, head 5 of layer 4,
# gives 0.841.
#
# The most common of these patterns is one that few would have guessed: attention to a token that stands for no word,
# the **attention sink** of chapter 7. (Clark et al., 2019, describe it in BERT, most often at `[SEP]`.)

# %% [markdown]
# ### What does [CLS] contribute?
#
# **Question 8.3.** A head gives 0.9 of its attention to `[CLS]`, in every row. What does that alone tell you about the
# head's output?
#
# * **a** It is nine tenths of what `[CLS]` means.
# * **b** It is small.
# * **c** Not much: it also depends on the values.

# %% name="question-8-3"
answer("Q8.3", "c")

# %% [markdown]
# A weight says how much of a value is mixed in. How long are the values? For each layer, here is the length of the
# value of `[CLS]`, then the mean length for all other tokens.

# %% name="value-lengths"
x = encoder.embed(torch.tensor(encoded.ids))  # (T, 384)
for number, layer in enumerate(encoder.layers):
    lengths = layer.attention.W_value(x).norm(dim=-1)  # (T, 384) -> (T,)
    print(f"layer {number}: [CLS] {lengths[0]:.3f}, others {lengths[1:].mean():.3f}")
    x = layer(x)  # (T, 384)

# %% [markdown]
# The value of `[CLS]` is short: in layer 1, 0.689 against 13.288. That fits the bright columns. Softmax forces a head
# to give away all its attention, even when it has nothing to contribute. It can then attend to `[CLS]`: a large weight
# on a short value adds almost nothing. In layer 0, where that value is longer, no head gives `[CLS]` more than half
# (but in layer 5, where it is short, only one does). So a weight alone does not say how much a token contributes:
# weight *times value* enters the sum (Kobayashi et al., 2020).

# %% [markdown]
# ### Exercise 8.3 · How many tokens does a head look at?
# 3 points · ★★★ · 20 minutes
#
# A row with all its weight on one token looks at 1 token; a uniform row over four tokens looks at 4. In between,
# $\exp(-\sum_j w_j \ln w_j)$ is a good measure; its exponent is called the **entropy** of the row. Compute this measure
# for weights of any shape $(\dots, T, T)$, and return the mean over the rows. One trap: $0 \cdot \ln 0$ counts as zero.

# %% name="exercise-8-3"
def my_breadth(weights):
    """The mean over queries of exp(entropy): (...) from weights (..., T, T), rows summing to 1."""
    ### BEGIN SOLUTION
    entropy = -torch.xlogy(weights, weights).sum(dim=-1)  # (..., T); xlogy(0, 0) is 0
    return entropy.exp().mean(dim=-1)  # (...)
    ### END SOLUTION

# %% name="check-8-3"
### BEGIN HIDDEN TESTS
assert check("8.3", my_breadth).status == "right"
### END HIDDEN TESTS
check("8.3", my_breadth)

# %% [markdown] tags=["solution"]
# **Why it works.** `torch.xlogy(w, w)` is $w \ln w$ with 0 at $w = 0$. The sum runs over the keys, the last dimension;
# over the queries it would not be an entropy, since columns do not sum to 1.

# %% [markdown]
# ## Does the head matter?
#
# Our noun head does not say what "it" stands for. Is it idle, then? Weights cannot tell, but an experiment can:
# **remove** the head and see what changes (Michel et al., 2019).
#
# A head's 32 numbers pass through 32 columns of `out_proj`. Setting these to 0 silences the head. Or we let it
# contribute one vector, `instead`, to every token: that constant goes into the bias.

# %% name="without-head"
def without_head(encoder, layer, head, instead=torch.zeros(32)):
    """A copy of the encoder in which one head outputs `instead`, (head_dim,), for every token."""
    changed = copy.deepcopy(encoder)
    attention = changed.layers[layer].attention
    columns = slice(head * attention.head_dim, (head + 1) * attention.head_dim)
    # (384, 32) @ (32,) -> (384,)
    attention.out_proj.bias += attention.out_proj.weight[:, columns] @ instead
    attention.out_proj.weight[:, columns] = 0  # (384, 32)
    return changed


def moved(sentence, layer, head, *instead):
    """How far the final vector of "it" moves without a head, as a fraction of its length."""
    encoded = tokenizer.encode(sentence)
    numbers, it = torch.tensor(encoded.ids), encoded.tokens.index("it")
    changed = without_head(encoder, layer, head, *instead)
    before, after = encoder(numbers)[it], changed(numbers)[it]
    return (after - before).norm() / before.norm()

# %% [markdown]
# In turn, we remove the noun head and three heads of layer 4 that attend differently to `[CLS]`. What would you expect?

# %% name="remove-heads"
for layer, head in [(5, 11), (4, 5), (4, 2), (4, 10)]:
    to_cls = weights[layer, head, place("it"), 0]
    by = moved(hungry, layer, head)
    print(f'layer {layer}, head {head}: gives [CLS] {to_cls:.3f}; removal moves "it" by {by:.3f}')

# %% [markdown]
# Without the noun head, "it" moves by 0.453, nearly half its length. In layer 4, removing head 2 moves it more (0.127)
# than removing head 10 (0.110). It is tempting to conclude: *head 2 matters more than head 10.*
#
# That is one sentence again, without a control. So we take all six. And since the rest of the model has never met such
# zeros, we also replace the head's output by its **mean** over the sentence's tokens.

# %% name="mean-of-head"
def mean_of_head(sentence, layer, head):
    """A head's mean output over the tokens of a sentence: (head_dim,)."""
    x = encoder.embed(torch.tensor(tokenizer.encode(sentence).ids))  # (T, 384)
    for earlier in encoder.layers[:layer]:
        x = earlier(x)  # (T, 384)
    attention = encoder.layers[layer].attention
    values = attention.split(attention.W_value, x, "x")[head]  # (T, 32)
    return (attention.weights(x, x)[head] @ values).mean(dim=0)  # (T, T) @ (T, 32) -> (32,)


for layer, head in [(5, 11), (4, 2), (4, 10)]:
    by_zero = [moved(text, layer, head) for text, _, _ in controls]
    by_mean = [moved(text, layer, head, mean_of_head(text, layer, head)) for text, _, _ in controls]
    print(f"layer {layer}, head {head}: zeros", torch.stack(by_zero))
    print(" " * 17, "mean ", torch.stack(by_mean))

# %% [markdown]
# With zeros, head 2 has a larger effect than head 10 in the first three sentences and a smaller one in the others. With
# means, its effect is smaller in the first, 0.0470 against 0.0542, and larger in most others. So which head matters
# more depends on the sentence and the replacement: there is no single answer.
#
# The noun head is a clearer case. With zeros, none of the other heads tried has as large an effect in any sentence. But
# with its mean, its effect in the first sentence falls from 0.4534 to 0.0567. So what matters is mainly what the head
# adds to *every* token, as the map showed: the same two columns in all rows.

# %% [markdown]
# ### Exercise 8.4 · Hear one head only
# 1 point · ★☆☆ · 5 minutes
#
# The opposite experiment asks what one head contributes alone. Write its core: a *copy* of an `out_proj` matrix that
# lets only one head's output through. Heads are counted from 0. The original must stay unchanged.

# %% name="exercise-8-4"
def my_only_head(out_weight, head, head_dim):
    """A copy of out_weight, (d_out, num_heads * head_dim), with all other heads at 0."""
    ### BEGIN SOLUTION
    own = slice(head * head_dim, (head + 1) * head_dim)
    alone = torch.zeros_like(out_weight)
    alone[:, own] = out_weight[:, own]  # (d_out, head_dim)
    return alone
    ### END SOLUTION

# %% name="check-8-4"
### BEGIN HIDDEN TESTS
assert check("8.4", my_only_head).status == "right"
### END HIDDEN TESTS
check("8.4", my_only_head)

# %% [markdown] tags=["solution"]
# **Why it works.** `nn.Linear` stores one row per output and one column per input, and heads are inputs of `out_proj`.
# Setting rows to 0 would silence outputs, to which all heads contribute. And writing into the original matrix instead
# of a new one would change the model for every later cell.

# %% [markdown]
# Your exercises so far:

# %% name="progress"
progress(8)

# %% [markdown]
# ## Takeaways
#
# Here is what attention weights say, and what they do not:
#
# * They say **which tokens a head drew on**. That is exact: it is how the head computes. Layer 0, head 2 reads the
#   token before, in every sentence we tried.
# * They do not say **how much that mattered**. A weight on a short value contributes little. To find out, remove the
#   head in several sentences, and say what you put in its place.
# * They do not say **why**. Judged by the row of "it", a head whose rows are all alike looks like one that resolves
#   pronouns.
# * They do not say **what the model understood**. This model gives nearly the same vector to a chase and its reverse.
#   Nothing in its final training asked who was hungry.
#
# A picture of attention is a measurement. Its caption is a claim that needs controls: a word changed so that the answer
# should change, all heads instead of the one that agrees, other queries, and a comparison with coins. (Other models may
# well have heads that pass; [chapter 11](11_a_model_that_speaks.ipynb) finds heads with other jobs. On whether weights
# explain outputs, see Jain and Wallace, 2019, and Wiegreffe and Pinter, 2019.)
#
# **Next.** You have gone from the dot product of two vectors to the inside of a real model, and you know what to ask
# about the next attention picture you see. This model's design dates from 2018: [chapter
# 9](09_positions_that_turn.ipynb) shows what has changed since. All chapters: [the course's
# contents](../README.md#chapters).
