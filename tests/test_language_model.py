"""Chapter 11's language model: what its classes refuse to mix up, and with the file's weights what others compute."""

import pytest
import torch

from course_utils.language_model import LanguageModel
from tests.support import language_model
from tests.support.chapter_code import defined_in

CHAPTER = defined_in(11)
TEXTS = [
    "The capital of France is",
    "When Mary and John went to the store, John gave a drink to",
    "def mean(numbers):\n    return sum(numbers) / len(numbers)  # 3.14, äöü",
]
TINY = (23, 3, 16, 4, 2, 12)


@pytest.fixture
def tiny():
    """A small model with random weights."""
    generator, model = torch.Generator().manual_seed(5), LanguageModel(*TINY)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.5, generator=generator)
    return model.eval().requires_grad_(False)


@pytest.fixture(scope="module")
def reader():
    """What reads the file of SmolLM2-135M."""
    from gguf import GGUFReader

    return GGUFReader(language_model.file())


@pytest.fixture(scope="module")
def model(reader):
    """The model with its weights."""
    loaded = CHAPTER.load_language_model(reader)
    CHAPTER.put_in_halves(loaded)
    return loaded


def ids(seed=0, shape=(2, 7)):
    """Random tokens of the small model."""
    return torch.randint(TINY[0], shape, generator=torch.Generator().manual_seed(seed))


# --- the classes ------------------------------------------------------------------------------------------------------


def test_token_by_token_with_caches_gives_the_scores_of_the_whole_text(tiny):
    text, caches, steps = ids(), None, []
    for place in range(text.shape[1]):
        scores, caches = tiny(text[:, place : place + 1], caches)
        steps.append(scores)
    assert torch.allclose(torch.cat(steps, dim=1), tiny(text)[0], atol=1e-4)


def test_an_edit_changes_its_head_in_its_layer_and_nothing_before_it(tiny):
    def edit(layer, context):
        assert context.shape == (2, 4, 7, 4)
        return context * torch.tensor([1.0, 1.0, 0.0, 1.0])[:, None, None] if layer == 1 else context

    before, after = [], []
    tiny(ids(), record=before)
    scores, _ = tiny(ids(), edit=edit, record=after)
    same = [torch.equal(one, other) for one, other in zip(before, after, strict=True)]
    assert same == [True, True, False] and not torch.equal(scores, tiny(ids())[0])
    columns = tiny.blocks[1].attention.out_proj.weight[:, 8:12]
    columns.zero_()  # what nobody hears is as good as silent
    assert torch.allclose(tiny(ids())[0], scores, atol=1e-5)


def test_a_mask_hides_keys_from_every_layer(tiny):
    mask = torch.zeros(1, 7, 7).bool()
    mask[:, 1:, 0] = True
    record = []
    tiny(ids(), mask=mask, record=record)
    assert all((weights[:, :, 1:, 0] == 0).all() for weights in record) and len(record) == TINY[1]


def test_on_cuda_the_scores_are_the_same(tiny):
    if not torch.cuda.is_available():
        pytest.skip("this machine has no GPU that CUDA runs on: the model's scores were not compared there")
    assert torch.allclose(tiny(ids())[0], tiny.cuda()(ids().cuda())[0].cpu(), atol=1e-3)


# --- the file's weights -----------------------------------------------------------------------------------------------

FIRST_TWO = pytest.mark.every_setting("the language model's first two layers")
WHOLE = pytest.mark.every_setting("the whole language model, beside transformers")
# of the last token, the first numbers, as transformers has them
AFTER_TWO = [2.2477, 0.4754, -2.1015, -0.6278, -0.4807, 0.5784, -0.4940, -0.4212]


@FIRST_TWO
def test_the_first_two_layers_give_the_numbers_that_were_written_down(reader):
    from gguf import dequantize

    two = LanguageModel(49152, 2, 576, 9, 3, 1536)
    wanted = two.state_dict().keys()
    found = {CHAPTER.place_of(each.name): each for each in reader.tensors if CHAPTER.place_of(each.name) in wanted}
    two.load_state_dict({name: torch.tensor(dequantize(each.data, each.tensor_type)) for name, each in found.items()})
    two.requires_grad_(False)
    CHAPTER.put_in_halves(two)
    x = two.words(torch.tensor([CHAPTER.load_tokenizer(reader).encode(TEXTS[0]).ids]))
    for block in two.blocks:
        x, _ = block(x)
    assert torch.allclose(x[0, -1, : len(AFTER_TWO)], torch.tensor(AFTER_TWO), atol=1e-3)


@WHOLE
def test_all_scores_of_three_texts_are_those_of_transformers(reader, model):
    from transformers import AutoModelForCausalLM, AutoTokenizer

    file, ours = language_model.file(), CHAPTER.load_tokenizer(reader)
    theirs = AutoModelForCausalLM.from_pretrained(file.parent, gguf_file=file.name, dtype=torch.float32).eval()
    their_tokens = AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name)
    for text in TEXTS:
        numbers = ours.encode(text).ids
        assert numbers == their_tokens(text)["input_ids"] and ours.decode(numbers) == text
        with torch.no_grad():
            wanted = theirs(torch.tensor([numbers])).logits
        assert (model(torch.tensor([numbers]))[0] - wanted).abs().max() < 1e-3


@WHOLE
def test_neighbours_left_as_pairs_would_be_noticed(reader, model):
    numbers = torch.tensor([CHAPTER.load_tokenizer(reader).encode(TEXTS[0]).ids])
    assert (CHAPTER.load_language_model(reader)(numbers)[0] - model(numbers)[0]).abs().max() > 1
