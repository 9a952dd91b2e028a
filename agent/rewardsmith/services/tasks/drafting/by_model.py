"""A language model's better words for the fields of a draft."""

from dataclasses import replace

from pydantic import BaseModel, ConfigDict, Field

from rewardsmith.contract.layout import FieldKind
from rewardsmith.contract.sources import check_field_name
from rewardsmith.errors import ModelUnavailableError
from rewardsmith.services.chat.base import ChatMessage, ChatRequest
from rewardsmith.services.chat.calls import Ask
from rewardsmith.services.chat.structured import ask_for, schema_of
from rewardsmith.services.prompting import plain, render
from rewardsmith.services.tasks.drafting.draft import Draft
from rewardsmith.services.tasks.drafting.fields import DraftField
from rewardsmith.services.tasks.drafting.wording import as_name

MAX_DOC_CHARS = 300


class Words(BaseModel):
    """What a model calls one field."""

    model_config = ConfigDict(extra="ignore")

    source: str
    name: str = Field(max_length=60)
    kind: FieldKind
    unit: str = Field(max_length=20)
    doc: str


class AllWords(BaseModel):
    """What a model calls the fields."""

    model_config = ConfigDict(extra="ignore")

    fields: list[Words]


def reworded(draft: Draft, ask: Ask, *, max_tokens: int) -> Draft:
    """Return the draft with the names, kinds, units and sentences of a model.

    A field that the model left out, or named as no field can be named, stays as it was.

    Args:
        draft: to be worded better.
        ask: makes the call.
        max_tokens: of the answer.

    Raises:
        ModelUnavailableError: there is no usable answer.
    """
    request = ChatRequest(
        messages=(ChatMessage(role="user", text=words_prompt(draft)),),
        max_tokens=max_tokens,
        temperature=0.0,
        schema=schema_of(AllWords),
    )
    answer, reason = ask_for(AllWords, ask, key="task/words", asker="coder", request=request)
    if answer is None:
        raise ModelUnavailableError(f"no names for the fields came of the model: {reason}")
    by_source = {words.source: words for words in answer.fields}
    taken: set[str] = set()
    return replace(
        draft, fields=tuple(_reworded(field, by_source.get(field.source), taken) for field in draft.fields)
    )


def words_prompt(draft: Draft) -> str:
    """Return the question for better words; it holds nothing of the environment's own reward."""
    return render(
        "task/words.j2",
        environment=draft.made_from,
        goal=draft.goal,
        action=draft.action,
        told=draft.told,
        fields=draft.fields,
    )


def _reworded(field: DraftField, words: Words | None, taken: set[str]) -> DraftField:
    if words is None:
        return replace(field, name=as_name(field.name, taken))
    try:
        name = as_name(check_field_name(words.name.strip()), taken)
    except ValueError:
        name = as_name(field.name, taken)
    doc = plain(words.doc)[:MAX_DOC_CHARS]
    return replace(field, name=name, kind=words.kind, unit=plain(words.unit), doc=doc or field.doc)
