// Feishu's Node SDK: its long connection acknowledges all it gets, and its client answers what it is told to.
import * as lark from "@larksuiteoapi/node-sdk";

const { BASE_URL, APP_ID, APP_SECRET } = process.env;
// Its own logger writes where the reports go.
const logger = Object.fromEntries(["error", "warn", "info", "debug", "trace"].map((level) => [level, console.error]));
const settings = { appId: APP_ID, appSecret: APP_SECRET, domain: BASE_URL, logger };
const report = (seen) => console.log(JSON.stringify(seen));
const client = new lark.Client(settings);
const post = (text) => JSON.stringify({ zh_cn: { title: "", content: [[{ tag: "md", text }]] } });

async function refused(step, call) {
  try {
    const { code } = await call();
    report({ step, code });
  } catch (error) {
    report({ step, code: error.response?.data?.code ?? error.message, status: error.response?.status });
  }
}

async function answer(id) {
  const path = { message_id: id };
  const reply = await client.im.v1.message.reply({ path, data: { msg_type: "post", content: post("looking"), uuid: "u-1" } });
  const mine = { message_id: reply.data.message_id };
  const edited = await client.im.v1.message.update({ path: mine, data: { msg_type: "post", content: post("found it") } });
  report({ step: "edit", code: edited.code, parent: reply.data.parent_id === id, same: edited.data.message_id === mine.message_id });
  const card = (text) => JSON.stringify({ schema: "2.0", config: { update_multi: true }, body: { elements: [{ tag: "markdown", content: text }] } });
  const shown = await client.im.v1.message.reply({ path, data: { msg_type: "interactive", content: card("1"), uuid: "u-2" } });
  const patched = await client.im.v1.message.patch({ path: { message_id: shown.data.message_id }, data: { content: card("2") } });
  const reacted = await client.im.v1.messageReaction.create({ path, data: { reaction_type: { emoji_type: "DONE" } } });
  report({ step: "patch", code: patched.code, emoji: reacted.data.reaction_type.emoji_type });
  await refused("somebody else's", () => client.im.v1.message.update({ path, data: { msg_type: "text", content: '{"text":"x"}' } }));
  await refused("nothing to say", () => client.im.v1.message.reply({ path, data: { msg_type: "text", content: '{"text":""}', uuid: "u-3" } }));
}

const eventDispatcher = new lark.EventDispatcher({ logger }).register({
  "im.message.receive_v1": async ({ message, sender }) => {
    const { text } = JSON.parse(message.content);
    report({ event: "message", id: message.message_id, text, by: sender.sender_id.open_id });
    if (text.includes("answer me")) await answer(message.message_id);
  },
  "card.action.trigger": async ({ operator, action }) => {
    report({ event: "click", by: operator.open_id, value: action.value });
    return { toast: { type: "success", content: "Done." } };
  },
});
await new lark.WSClient(settings).start({ eventDispatcher });
