"""OpenAI's Python SDK: reads streams and whole answers, and names each failure as the provider's."""

import json
import os

import openai

BASE_URL = os.environ["BASE_URL"]
TOOLS = [{"type": "function", "function": {"name": "query", "description": "asks", "parameters": {
    "type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}}}]


def report(step, **seen):
    print(json.dumps({"step": step, **seen}))


def client(key=os.environ["API_KEY"], retries=0):
    return openai.OpenAI(api_key=key, base_url=BASE_URL, max_retries=retries, timeout=20)


def messages(text):
    return [{"role": "system", "content": "You are the persona judged."}, {"role": "user", "content": text}]


def ask(text, by=None, **more):
    return (by or client()).chat.completions.create(model="judged", messages=messages(text), tools=TOOLS, **more)


def usage(of):
    return [of.prompt_tokens, of.completion_tokens, of.total_tokens, of.prompt_tokens_details.cached_tokens]


def failed(step, call):
    try:
        answer = call()
    except openai.APIStatusError as error:
        report(step, error=type(error).__name__, status=error.status_code, code=error.code)
    except Exception as error:
        report(step, error=type(error).__name__)
    else:
        report(step, answer=str(answer))


def drain(stream):
    return [chunk for chunk in stream]


whole = ask("whole")
report("whole", text=whole.choices[0].message.content, finish=whole.choices[0].finish_reason, usage=usage(whole.usage))

chunks = drain(ask("stream", stream=True, stream_options={"include_usage": True}))
report("stream", role=chunks[0].choices[0].delta.role, finish=[c.choices[0].finish_reason for c in chunks if c.choices][-1],
       text="".join(c.choices[0].delta.content or "" for c in chunks if c.choices), usage=usage(chunks[-1].usage),
       several=len(chunks) > 4, ids=len({chunk.id for chunk in chunks}))

# The SDK's own accumulation checks the order and the indices of the pieces.
with client().chat.completions.stream(model="judged", messages=messages("call"), tools=TOOLS) as stream:
    for _event in stream:
        pass
    final = stream.get_final_completion().choices[0]
calls = final.message.tool_calls
report("calls", finish=final.finish_reason, text=final.message.content,
       calls=[[call.function.name, json.loads(call.function.arguments)] for call in calls])

history = messages("call") + [
    {"role": "assistant", "content": final.message.content, "tool_calls": [
        {"id": c.id, "type": "function", "function": {"name": c.function.name, "arguments": c.function.arguments}} for c in calls]},
    *({"role": "tool", "tool_call_id": call.id, "content": f"result {at}"} for at, call in enumerate(calls)),
]
after = client().chat.completions.create(model="judged", messages=history, tools=TOOLS)
report("results", text=after.choices[0].message.content)

report("repeated", text=ask("busy once", by=client(retries=1)).choices[0].message.content)
failed("a wrong key", lambda: ask("whole", by=client("sk-wrong")))
failed("busy", lambda: ask("busy"))
failed("broken", lambda: ask("broken"))
failed("orphan", lambda: client().chat.completions.create(
    model="judged", messages=[*messages("x"), {"role": "tool", "tool_call_id": "nobody", "content": "?"}]))
failed("an error in the stream", lambda: drain(ask("trouble", stream=True)))
failed("cut off", lambda: drain(ask("cut", stream=True)))
report("models", ids=[model.id for model in client().models.list()])
