"""Anthropic's Python SDK: reads streams and whole answers, returns thoughts, and names each failure as the provider's."""

import json
import os

import anthropic

BASE_URL = os.environ["BASE_URL"]
TOOLS = [{"name": "query", "description": "asks", "input_schema": {
    "type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}}]


def report(step, **seen):
    print(json.dumps({"step": step, **seen}))


def client(key=os.environ["API_KEY"], retries=0):
    return anthropic.Anthropic(api_key=key, base_url=BASE_URL, max_retries=retries, timeout=20)


def asked(text, **more):
    messages = more.pop("messages", None) or [{"role": "user", "content": text}]
    return {"model": "judged", "max_tokens": 2000, "system": "You are the persona judged.", "messages": messages, "tools": TOOLS, **more}


def ask(text, by=None, **more):
    return (by or client()).messages.create(**asked(text, **more))


def usage(of):
    return [of.input_tokens, of.cache_read_input_tokens, of.output_tokens]


def content(message):
    return [block.text if block.type == "text" else
            [block.thinking, bool(block.signature)] if block.type == "thinking" else
            [block.name, block.input] for block in message.content]


def streamed(text, **more):
    """The SDK's own accumulation checks the order and the indices of the pieces."""
    kinds = []
    with client().messages.stream(**asked(text, **more)) as stream:
        for event in stream:
            if not kinds or kinds[-1] != event.type:
                kinds.append(event.type)
        return stream.get_final_message(), kinds


def failed(step, call):
    try:
        answer = call()
    except anthropic.APIStatusError as error:
        report(step, error=type(error).__name__, status=error.status_code, type=error.body["error"]["type"],
               request=error.request_id)
    except Exception as error:
        report(step, error=type(error).__name__)
    else:
        report(step, answer=str(answer))


whole = ask("whole")
report("whole", content=content(whole), stop=whole.stop_reason, usage=usage(whole.usage))
message, kinds = streamed("stream")
report("stream", content=content(message), stop=message.stop_reason, usage=usage(message.usage), first=kinds[0], last=kinds[-1])
message, _ = streamed("call")
report("calls", content=content(message), stop=message.stop_reason)

results = [{"type": "tool_result", "tool_use_id": block.id, "content": f"result {at}"}
           for at, block in enumerate(block for block in message.content if block.type == "tool_use")]
history = [{"role": "user", "content": "call"}, {"role": "assistant", "content": message.content}, {"role": "user", "content": results}]
report("results", content=content(ask("", messages=history)))
forged = [{**block.model_dump(), "signature": "made up"} if block.type == "thinking" else block for block in message.content]
history[1] = {"role": "assistant", "content": forged}
failed("a forged thought", lambda: ask("", messages=history))

report("repeated", content=content(ask("busy once", by=client(retries=1))))
failed("a wrong key", lambda: ask("whole", by=client("sk-wrong")))
failed("busy", lambda: ask("busy"))
failed("overloaded", lambda: ask("overloaded"))
failed("broken", lambda: ask("broken"))
failed("orphan", lambda: ask("", messages=[{"role": "user", "content": [
    {"type": "tool_result", "tool_use_id": "toolu_nobody", "content": "?"}]}]))
failed("no end", lambda: ask("", max_tokens=0))
failed("an error in the stream", lambda: streamed("trouble"))
failed("cut off", lambda: streamed("cut"))
