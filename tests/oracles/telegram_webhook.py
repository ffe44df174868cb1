"""python-telegram-bot's types read what is brought to a webhook; the first delivery is refused."""

import asyncio
import json
import os
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

from telegram import Bot, Update

URL, TOKEN = os.environ["API_URL"], os.environ["TOKEN"]
bot = Bot(TOKEN, base_url=f"{URL}/bot")
statuses = [500]


class Hook(BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        update = Update.de_json(body, bot)
        message = update.effective_message
        secret = self.headers["X-Telegram-Bot-Api-Secret-Token"]
        status = statuses.pop() if statuses else 200
        kind = next(key for key in body if key != "update_id")
        # Whatever the types don't know ends in api_kwargs.
        print(json.dumps({"kind": kind, "text": message.text, "secret": secret, "unknown": dict(message.api_kwargs),
                          "read": update.to_dict()["update_id"] == body["update_id"], "status": status}))
        self.send_response(status)
        self.end_headers()

    def log_message(self, *_):
        pass


async def main():
    server = HTTPServer(("127.0.0.1", 0), Hook)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    async with bot:
        url = f"http://127.0.0.1:{server.server_port}/hook"
        await bot.set_webhook(url, secret_token="s3cret", max_connections=1, allowed_updates=["message", "channel_post"])
        info = await bot.get_webhook_info()
        print(json.dumps({"set": info.url == url, "pending": info.pending_update_count, "kinds": info.allowed_updates}))
        await asyncio.get_running_loop().create_future()


asyncio.run(main())
