// Slack's Node SDK over Socket Mode: acknowledges all it gets, and connects again when it is told to.
import { LogLevel, SocketModeClient } from "@slack/socket-mode";

const client = new SocketModeClient({
  appToken: process.env.APP_TOKEN,
  logLevel: LogLevel.ERROR,
  // For a pong; it is also the wait before a new connection.
  clientPingTimeout: 3000,
  clientOptions: { slackApiUrl: process.env.API_URL },
});
const report = (seen) => console.log(JSON.stringify(seen));

client.on("connected", () => report({ state: "connected" }));
client.on("slack_event", async ({ ack, type, body, retry_num, retry_reason, accepts_response_payload }) => {
  await ack(accepts_response_payload ? { text: "At once." } : undefined);
  // A command's fields stand at the top.
  const inner = body.event ?? { type: body.command, text: body.text };
  report({ type, inner: inner.type, text: inner.text, retry_num, retry_reason, accepts_response_payload });
  if (inner.type === "app_mention" && inner.text.includes("goodbye")) {
    await client.disconnect();
    process.exit(0);
  }
});
await client.start();
