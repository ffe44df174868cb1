"""Slack's Python SDK with files: fetches what somebody attached and uploads something of its own."""

import json
import os
import urllib.request

from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError

ROOM, THREAD, TOKEN = os.environ["ROOM"], os.environ["THREAD"], os.environ["TOKEN"]
slack = WebClient(token=TOKEN, base_url=os.environ["API_URL"])


def report(step, **seen):
    print(json.dumps({"step": step, **seen}))


def fetched(url, token):
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"} if token else {})
    with urllib.request.urlopen(request, timeout=20) as answer:
        return answer.headers.get_content_type(), answer.read()


[attached] = slack.conversations_replies(channel=ROOM, ts=THREAD)["messages"][0]["files"]
told = slack.files_info(file=attached["id"])["file"]
report("files.info", name=told["name"], type=told["mimetype"], size=told["size"], same=told["id"] == attached["id"])
kind, content = fetched(told["url_private_download"], TOKEN)
report("fetched", kind=kind, content=content.decode())
kind, content = fetched(told["url_private_download"], None)
report("fetched without the token", kind=kind, page=b"<html" in content.lower())

uploaded = slack.files_upload_v2(channel=ROOM, thread_ts=THREAD, filename="answer.md", title="The answer",
                                 content="# All of it ✓\n", initial_comment="It was long.")
report("uploaded", title=uploaded["files"][0]["title"])
last = slack.conversations_replies(channel=ROOM, ts=THREAD)["messages"][-1]
report("seen", text=last["text"], files=[file["name"] for file in last["files"]])
try:
    slack.files_info(file="F0NONE")
except SlackApiError as error:
    report("no such file", error=error.response["error"])
