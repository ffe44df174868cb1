// Slack's Node SDK as web client. It sends forms, where the Python one sends JSON or queries.
import { LogLevel, WebClient } from "@slack/web-api";

const { API_URL, ROOM, THREAD, TOKEN } = process.env;
const options = { slackApiUrl: API_URL, logLevel: LogLevel.ERROR, retryConfig: { retries: 1, factor: 1, minTimeout: 1 } };
const slack = new WebClient(TOKEN, options);
const report = (step, seen) => console.log(JSON.stringify({ step, ...seen }));

async function refused(step, call) {
  try {
    report(step, { answer: await call() });
  } catch (error) {
    report(step, { code: error.code, error: error.data?.error ?? error.message });
  }
}

const me = await slack.auth.test();
report("auth.test", { user: me.user_id, scopes: me.response_metadata.scopes.includes("chat:write") });
const blocks = [{ type: "section", text: { type: "mrkdwn", text: "*pool* is full" } }];
const posted = await slack.chat.postMessage({ channel: ROOM, thread_ts: THREAD, text: "pool is full", blocks });
report("chat.postMessage", { text: posted.message.text, blocks: posted.message.blocks.length });
const edited = await slack.chat.update({ channel: ROOM, ts: posted.ts, text: "pool was full" });
report("chat.update", { same: edited.ts === posted.ts, text: edited.text });
const texts = [];
for await (const page of slack.paginate("conversations.replies", { channel: ROOM, ts: THREAD, limit: 2 })) {
  texts.push(page.messages.map((message) => message.text));
}
report("conversations.replies", { texts });
await slack.reactions.add({ channel: ROOM, timestamp: THREAD, name: "eyes" });
await slack.chat.delete({ channel: ROOM, ts: posted.ts });
await refused("gone", () => slack.chat.update({ channel: ROOM, ts: posted.ts, text: "again" }));
await refused("nowhere", () => slack.chat.postMessage({ channel: "C0NOWHERE", text: "hello" }));
await refused("a wrong token", () => new WebClient("xoxb-wrong", options).auth.test());
await refused("a server that fails twice", () => slack.users.info({ user: me.user_id }));
