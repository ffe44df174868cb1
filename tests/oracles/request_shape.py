"""Holds request bodies against the parameter types of the providers' own SDKs. What the types leave open (the order of
messages, say) is the simulator's referee's part."""

import functools
import json
import os

import pydantic
from anthropic.types import message_create_params as anthropic
from openai.types.chat import completion_create_params as openai

STRICT = pydantic.ConfigDict(extra="forbid")
TYPES = {
    "openai": (openai.CompletionCreateParamsStreaming, openai.CompletionCreateParamsNonStreaming),
    "anthropic": (anthropic.MessageCreateParamsStreaming, anthropic.MessageCreateParamsNonStreaming),
}


@functools.cache
def adapter(api, streams):
    # Settings reach typed dictionaries only from something around them.
    return pydantic.TypeAdapter(list[TYPES[api][0 if streams else 1]], config=STRICT)


def drain(value):
    """The SDKs write Iterable, which pydantic checks no sooner than somebody reads it."""
    if isinstance(value, dict):
        for item in value.values():
            drain(item)
    elif not isinstance(value, (str, bytes)) and hasattr(value, "__iter__"):
        for item in value:
            drain(item)


def complaints(api, body):
    try:
        drain(adapter(api, bool(body.get("stream"))).validate_python([body]))
    except pydantic.ValidationError as error:
        return sorted({f"{problem['type']} at {'.'.join(map(str, problem['loc']))}" for problem in error.errors()})
    return []


with open(os.environ["BODIES"], encoding="utf-8") as file:
    for asked in json.load(file):
        print(json.dumps(complaints(asked["api"], asked["body"])))
