"""Feishu's Python SDK as client of the open API: every call that a bot makes, and every kind of refusal."""

import io
import json
import os

import lark_oapi as lark
from lark_oapi.api.contact.v3 import BasicBatchUserRequest, BasicBatchUserRequestBody
from lark_oapi.api.im.v1 import *

room, thread_root, other = os.environ["ROOM"], os.environ["ROOT"], os.environ["OTHER"]


def client(secret=os.environ["APP_SECRET"]):
    builder = lark.Client.builder().app_id(os.environ["APP_ID"]).app_secret(secret)
    return builder.domain(os.environ["BASE_URL"]).log_level(lark.LogLevel.CRITICAL).build()


def report(step, **seen):
    print(json.dumps({"step": step, **seen}), flush=True)


def refused(step, answer):
    # The SDK itself knows the header in one spelling alone.
    headers = {name.lower(): value for name, value in answer.raw.headers.items()}
    report(step, code=answer.code, log_id=answer.error["log_id"] == headers["x-tt-logid"])


def post(text):
    return json.dumps({"zh_cn": {"title": "", "content": [[{"tag": "md", "text": text}]]}})


def card(text):
    return json.dumps({"schema": "2.0", "config": {"update_multi": True},
                       "body": {"elements": [{"tag": "markdown", "content": text}]}})


feishu = client()
messages = feishu.im.v1.message


def send(kind, content, uuid):
    body = CreateMessageRequestBody.builder().receive_id(room).msg_type(kind).content(content).uuid(uuid).build()
    return messages.create(CreateMessageRequest.builder().receive_id_type("chat_id").request_body(body).build())


def put(message, kind, content):
    body = UpdateMessageRequestBody.builder().msg_type(kind).content(content).build()
    return messages.update(UpdateMessageRequest.builder().message_id(message).request_body(body).build())


def patch(message, content):
    body = PatchMessageRequestBody.builder().content(content).build()
    return messages.patch(PatchMessageRequest.builder().message_id(message).request_body(body).build())


me = feishu.request(lark.BaseRequest.builder().http_method(lark.HttpMethod.GET).uri("/open-apis/bot/v3/info")
                    .token_types({lark.AccessTokenType.TENANT}).build())
bot = json.loads(me.raw.content)["bot"]
report("bot", open_id=bot["open_id"], status=bot["activate_status"])

sent = send("post", post("looking"), "u-1")
again = send("post", post("looking"), "u-1")
report("send", ok=sent.success(), chat=sent.data.chat_id, kind=sent.data.msg_type, by=sent.data.sender.id_type,
       same=again.data.message_id == sent.data.message_id)

body = ReplyMessageRequestBody.builder().msg_type("post").content(post("a reply")).reply_in_thread(True).uuid("u-2")
reply = messages.reply(ReplyMessageRequest.builder().message_id(thread_root).request_body(body.build()).build())
report("reply", root=reply.data.root_id == thread_root, parent=reply.data.parent_id == thread_root,
       thread=reply.data.thread_id.startswith("omt_"))

edited = put(sent.data.message_id, "post", post("found it"))
report("edit", ok=edited.success(), same=edited.data.message_id == sent.data.message_id, updated=edited.data.updated,
       content=json.loads(edited.data.body.content)["content"][0][0]["text"])

shown = send("interactive", card("looking"), "u-3").data.message_id
report("patch", ok=patch(shown, card("found it")).success())

reaction = CreateMessageReactionRequestBody.builder().reaction_type(Emoji.builder().emoji_type("OnIt").build()).build()
made = feishu.im.v1.message_reaction.create(
    CreateMessageReactionRequest.builder().message_id(thread_root).request_body(reaction).build())
taken = feishu.im.v1.message_reaction.delete(
    DeleteMessageReactionRequest.builder().message_id(thread_root).reaction_id(made.data.reaction_id).build())
report("react", emoji=made.data.reaction_type.emoji_type, by=made.data.operator.operator_type, taken=taken.success())

one = messages.get(GetMessageRequest.builder().message_id(thread_root).build()).data.items[0]
report("get", text=json.loads(one.body.content)["text"], by=one.sender.id, kind=one.sender.sender_type,
       mentions=[mention.key for mention in one.mentions], told=one.mentions[0].id)

texts, token = [], None
while True:
    page = ListMessageRequest.builder().container_id_type("thread").container_id(reply.data.thread_id).page_size(1)
    page = messages.list((page.page_token(token) if token else page).build())
    texts.append([item.sender.sender_type for item in page.data.items])
    token = page.data.page_token
    if not page.data.has_more:
        break
report("list", pages=texts)

body = BasicBatchUserRequestBody.builder().user_ids([one.sender.id]).build()
names = feishu.contact.v3.user.basic_batch(
    BasicBatchUserRequest.builder().user_id_type("open_id").request_body(body).build())
report("names", names=[user.name for user in names.data.users])

chat = feishu.im.v1.chat.get(GetChatRequest.builder().chat_id(room).build())
report("chat", name=chat.data.name, mode=chat.data.chat_mode, external=chat.data.external)

body = CreateFileRequestBody.builder().file_type("stream").file_name("report.md").file(io.BytesIO(b"# Report\n"))
uploaded = feishu.im.v1.file.create(CreateFileRequest.builder().request_body(body.build()).build())
report("upload", ok=send("file", json.dumps({"file_key": uploaded.data.file_key}), "u-4").success())

resource = GetMessageResourceRequest.builder().message_id(os.environ["FILE_MESSAGE"]).file_key(os.environ["FILE_KEY"])
got = feishu.im.v1.message_resource.get(resource.type("file").build())
report("download", bytes=got.file.read().decode())

refused("somebody else's", put(other, "text", json.dumps({"text": "x"})))
refused("a card by PUT", put(shown, "post", post("x")))
refused("a post by PATCH", patch(sent.data.message_id, card("x")))
refused("an outer post", send("post", json.dumps({"post": json.loads(post("x"))}), "u-5"))
refused("nothing to say", send("text", json.dumps({"text": ""}), "u-6"))
refused("a bad card", send("interactive", json.dumps({"schema": "2.0", "body": {"elements": [{"tag": "note"}]}}), "u-7"))
refused("no such message", put("om_nothing", "text", json.dumps({"text": "x"})))
refused("too often", send("text", json.dumps({"text": "x"}), "u-8"))
recalled = messages.delete(DeleteMessageRequest.builder().message_id(shown).build())
report("recall", ok=recalled.success())
refused("what is gone", patch(shown, card("x")))
try:
    refused("a wrong secret", client("wrong").im.v1.chat.get(GetChatRequest.builder().chat_id(room).build()))
except Exception as error:
    report("a wrong secret", error=type(error).__name__)
