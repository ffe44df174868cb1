"""Slack's Python SDK as web client: reads, writes, refusals, and waiting when it is told to."""

import json
import os

from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError
from slack_sdk.http_retry.builtin_handlers import RateLimitErrorRetryHandler

ROOM, PERSON, THREAD = os.environ["ROOM"], os.environ["PERSON"], os.environ["THREAD"]


def client(token=os.environ["TOKEN"]):
    made = WebClient(token=token, base_url=os.environ["API_URL"])
    made.retry_handlers.append(RateLimitErrorRetryHandler(max_retry_count=1))
    return made


def report(step, **seen):
    print(json.dumps({"step": step, **seen}))


def refused(step, call, **arguments):
    try:
        answer = call(**arguments)
    except SlackApiError as error:
        report(step, status=error.response.status_code, error=error.response["error"])
    else:
        report(step, answer=answer.data)


slack = client()
me = slack.auth_test()
report("auth.test", team=me["team_id"], user=me["user_id"], bot=me["bot_id"], scopes="chat:write" in me.headers["x-oauth-scopes"])

blocks = [{"type": "section", "text": {"type": "mrkdwn", "text": "*pool* is full"}}]
mark = {"event_type": "judged", "event_payload": {"key": "k1"}}
# The first try is answered with 429: the SDK's handler waits as long as it is told to and repeats the call.
posted = slack.chat_postMessage(channel=ROOM, thread_ts=THREAD, text="pool is full", blocks=blocks, metadata=mark)
ours = posted["ts"]
report("chat.postMessage", channel=posted["channel"], message=posted["message"]["text"],
       thread=posted["message"]["thread_ts"] == THREAD, by=posted["message"]["user"])
edited = slack.chat_update(channel=ROOM, ts=ours, text="pool was full")
report("chat.update", same=edited["ts"] == ours, text=edited["text"], message=edited["message"]["text"])

pages = [
    [message["text"] for message in page["messages"]]
    for page in slack.conversations_replies(channel=ROOM, ts=THREAD, limit=2, include_all_metadata=True)
]
report("conversations.replies", pages=pages)
found = [m["metadata"] for page in slack.conversations_replies(channel=ROOM, ts=THREAD, include_all_metadata=True)
         for m in page["messages"] if "metadata" in m]
report("metadata", found=found)
history = [message["ts"] for page in slack.conversations_history(channel=ROOM, limit=1) for message in page["messages"]]
report("conversations.history", newest_first=history == sorted(history, reverse=True), count=len(history))
info = slack.conversations_info(channel=ROOM)["channel"]
report("conversations.info", id=info["id"], name=info["name"], member=info["is_member"])

slack.reactions_add(channel=ROOM, timestamp=THREAD, name="eyes")
refused("reactions.add again", slack.reactions_add, channel=ROOM, timestamp=THREAD, name="eyes")
slack.reactions_remove(channel=ROOM, timestamp=THREAD, name="eyes")
refused("reactions.remove again", slack.reactions_remove, channel=ROOM, timestamp=THREAD, name="eyes")
person = slack.users_info(user=PERSON)["user"]
report("users.info", id=person["id"], name=person["real_name"], bot=person["is_bot"])
direct = slack.conversations_open(users=[PERSON])["channel"]["id"]
whispered = slack.chat_postEphemeral(channel=ROOM, user=PERSON, text="for you alone")
report("in private", direct=slack.chat_postMessage(channel=direct, text="hello")["channel"] == direct,
       whispered="message_ts" in whispered.data)
link = slack.chat_getPermalink(channel=ROOM, message_ts=ours)["permalink"]
report("chat.getPermalink", fits=link.endswith(f"/archives/{ROOM}/p{ours.replace('.', '')}"))
slack.chat_delete(channel=ROOM, ts=ours)

refused("delete what is gone", slack.chat_delete, channel=ROOM, ts=ours)
refused("edit what is gone", slack.chat_update, channel=ROOM, ts=ours, text="again")
refused("edit somebody else's", slack.chat_update, channel=ROOM, ts=THREAD, text="mine now")
refused("nowhere", slack.chat_postMessage, channel="C0NOWHERE", text="hello")
refused("nothing to say", slack.chat_postMessage, channel=ROOM, text="")
refused("no such thread", slack.conversations_replies, channel=ROOM, ts="1.000001")
refused("nobody", slack.users_info, user="U0NOBODY")
refused("a wrong token", client("xoxb-wrong").auth_test)
refused("no token", client(None).auth_test)
refused("an app token", client(os.environ["APP_TOKEN"]).chat_postMessage, channel=ROOM, text="hello")

# The test has prepared a 429 for the first try and for the second; more than one repetition isn't made.
refused("too often", slack.bots_info, bot=me["bot_id"])
