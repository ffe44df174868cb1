// Vercel's emulate as the Slack that our program talks to: a workspace with Alice, a bot, a room, and signed events to the
// address that is posted to /subscribe. Then Alice asks; the thread is reported when it holds ANSWER.
import { readdirSync } from "node:fs";
import { createServer } from "node:http";
import { createEmulator } from "emulate";

const { ANSWER, BOT_TOKEN, QUESTION, SECRET } = process.env;
const report = (seen) => console.log(JSON.stringify(seen));
const scopes = ["chat:write", "channels:history", "channels:read", "channels:join", "users:read", "reactions:write", "team:read"];

// The package has no call to subscribe: its own plugin is listened in on, to get at the part that delivers events.
let deliver;
const folder = new URL("./node_modules/emulate/dist/", `file://${process.cwd()}/`);
for (const file of readdirSync(folder).filter((name) => /^dist-.*\.js$/.test(name))) {
  const { slackPlugin } = await import(new URL(file, folder));
  if (!slackPlugin) continue;
  const register = slackPlugin.register;
  slackPlugin.register = (app, store, webhooks, ...rest) => {
    deliver = webhooks;
    return register.call(slackPlugin, app, store, webhooks, ...rest);
  };
}
const emulator = await createEmulator({
  service: "slack",
  port: 0,
  seed: {
    slack: {
      signing_secret: SECRET,
      strict_scopes: true,
      team: { name: "Judges", domain: "judges" },
      users: [{ name: "alice", real_name: "Alice" }],
      channels: [{ name: "ops" }],
      oauth_apps: [{ client_id: "1.2", client_secret: "x", app_id: "A1", name: "App", redirect_uris: ["http://127.0.0.1/"], scopes, bot_name: "watchfloor" }],
      tokens: [
        { token: BOT_TOKEN, user: "watchfloor", type: "bot", app_id: "A1", scopes },
        { token: "xoxp-alice", user: "alice", type: "user", scopes },
      ],
    },
  },
});

// Slack takes a method's arguments from the query of a GET too; emulate knows POST alone.
let subscribe;
const subscribed = new Promise((done) => (subscribe = done));
const front = createServer(async (request, response) => {
  const url = new URL(request.url, emulator.url);
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  if (url.pathname === "/subscribe") {
    deliver.register({ url: Buffer.concat(chunks).toString(), events: ["*"], active: true, owner: "slack" });
    response.end();
    return subscribe();
  }
  const headers = { authorization: request.headers.authorization ?? "", "content-type": request.headers["content-type"] ?? "" };
  let body = Buffer.concat(chunks);
  if (request.method === "GET") {
    body = url.searchParams.toString();
    headers["content-type"] = "application/x-www-form-urlencoded";
    url.search = "";
  }
  const answer = await fetch(url, { method: "POST", headers, body });
  response.writeHead(answer.status, { "content-type": answer.headers.get("content-type") ?? "" });
  response.end(await answer.text());
});
await new Promise((listening) => front.listen(0, "127.0.0.1", listening));

async function as(token, method, args = {}) {
  const answer = await fetch(`${emulator.url}/api/${method}`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify(args),
  });
  return await answer.json();
}

const { channels } = await as(BOT_TOKEN, "conversations.list");
const room = channels.find((channel) => channel.name === "ops").id;
await as(BOT_TOKEN, "conversations.join", { channel: room });
await as("xoxp-alice", "conversations.join", { channel: room });
const bot = (await as(BOT_TOKEN, "auth.test")).user_id;
report({ api_url: `http://127.0.0.1:${front.address().port}/api/`, room });

await subscribed;
const asked = await as("xoxp-alice", "chat.postMessage", { channel: room, text: `<@${bot}> ${QUESTION}` });
for (;;) {
  const thread = await as("xoxp-alice", "conversations.replies", { channel: room, ts: asked.ts });
  const replies = thread.messages.filter((message) => message.user === bot);
  if (replies.some((message) => message.text.includes(ANSWER))) {
    report({ replies: replies.map(({ text, edited, thread_ts }) => ({ text, edited: Boolean(edited), here: thread_ts === asked.ts })) });
    break;
  }
  await new Promise((later) => setTimeout(later, 50));
}
process.exit(0);
