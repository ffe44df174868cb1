"""Slack's Python SDK over Socket Mode: acknowledges all it gets, and follows when the connection is taken from it."""

import json
import os
import threading

from slack_sdk import WebClient
from slack_sdk.socket_mode import SocketModeClient
from slack_sdk.socket_mode.response import SocketModeResponse
from slack_sdk.webhook import WebhookClient

web = WebClient(token=os.environ["TOKEN"], base_url=os.environ["API_URL"])
socket = SocketModeClient(app_token=os.environ["APP_TOKEN"], web_client=web)
over = threading.Event()
lines = threading.Lock()


def report(**seen):
    # Each event has its own thread, and a line its end apart.
    with lines:
        print(json.dumps(seen), flush=True)


def heard(client, request):
    payload = request.payload
    if request.type == "events_api":
        event = payload["event"]
        report(kind=request.type, event=event["type"], text=event["text"], user=event["user"],
               for_us=payload["authorizations"][0]["user_id"], attempt=request.retry_attempt)
        client.send_socket_mode_response(SocketModeResponse(envelope_id=request.envelope_id))
        if "ask me" in event["text"] and event["type"] == "app_mention":
            yes = {"type": "button", "action_id": "approve", "value": "x", "text": {"type": "plain_text", "text": "Yes"}}
            web.chat_postMessage(channel=event["channel"], text="Shall I?",
                                 blocks=[{"type": "actions", "block_id": "b", "elements": [yes]}])
        if "goodbye" in event["text"] and event["type"] == "app_mention":
            over.set()
    elif request.type == "interactive":
        client.send_socket_mode_response(SocketModeResponse(envelope_id=request.envelope_id, payload={}))
        answer = WebhookClient(payload["response_url"]).send(text="Yes it is.", response_type="ephemeral")
        report(kind=request.type, type=payload["type"], action=payload["actions"][0]["action_id"],
               user=payload["user"]["id"], answered=answer.status_code)
    else:
        client.send_socket_mode_response(SocketModeResponse(envelope_id=request.envelope_id, payload={"text": "At once."}))
        report(kind=request.type, command=payload["command"], text=payload["text"], user=payload["user_id"])


def frame(_client, message, _raw):
    if message.get("type") == "hello":
        report(connected=True)


socket.socket_mode_request_listeners.append(heard)
socket.message_listeners.append(frame)
socket.connect()
ended = over.wait(110)
socket.close()
raise SystemExit(0 if ended else 1)
