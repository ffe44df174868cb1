"""Feishu's Python SDK over the long connection: acknowledges all it gets, and comes back when it is cut off."""

import json
import os

import lark_oapi as lark
from lark_oapi.event.callback.model.p2_card_action_trigger import P2CardActionTriggerResponse
from lark_oapi.ws import Client


def report(**seen):
    print(json.dumps(seen), flush=True)


def message(data):
    said = data.event.message
    report(event="message", id=said.message_id, chat=said.chat_type, text=json.loads(said.content)["text"],
           by=data.event.sender.sender_id.open_id, mentions=[mention.id.open_id for mention in said.mentions or []])


def recalled(data):
    report(event="recalled", id=data.event.message_id)


def failing(_data):
    report(event="failing")
    raise RuntimeError("no handler wants it")


def click(data):
    report(event="click", by=data.event.operator.open_id, value=data.event.action.value,
           on=data.event.context.open_message_id)
    return P2CardActionTriggerResponse({"toast": {"type": "success", "content": "Done."}})


handler = (lark.EventDispatcherHandler.builder("", "")
           .register_p2_im_message_receive_v1(message)
           .register_p2_im_message_recalled_v1(recalled)
           .register_p2_im_message_reaction_created_v1(failing)
           .register_p2_card_action_trigger(click)
           .build())
Client(os.environ["APP_ID"], os.environ["APP_SECRET"], event_handler=handler, domain=os.environ["BASE_URL"],
       log_level=lark.LogLevel.CRITICAL).start()
