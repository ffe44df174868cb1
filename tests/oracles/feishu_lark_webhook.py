"""Feishu's Python SDK at a request address: it decrypts, verifies and answers what it is sent."""

import json
import os
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import lark_oapi as lark
from lark_oapi.core.model import RawRequest
from lark_oapi.event.callback.model.p2_card_action_trigger import P2CardActionTriggerResponse

heard = []


def click(data):
    heard.append(data.event.action.value)
    return P2CardActionTriggerResponse({"toast": {"type": "success", "content": "Done."}})


handler = (lark.EventDispatcherHandler.builder(os.environ["ENCRYPT_KEY"], os.environ["TOKEN"], lark.LogLevel.CRITICAL)
           .register_p2_im_message_receive_v1(lambda data: heard.append(json.loads(data.event.message.content)["text"]))
           .register_p2_card_action_trigger(click)
           .build())


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        request = RawRequest()
        request.uri = self.path
        request.body = self.rfile.read(int(self.headers["Content-Length"]))
        # The SDK knows the header names in one spelling alone.
        names = ["X-Lark-Request-Timestamp", "X-Lark-Request-Nonce", "X-Lark-Signature"]
        request.headers = {name: self.headers[name] for name in names if self.headers[name]}
        heard.clear()
        answer = handler.do(request)
        print(json.dumps({"status": answer.status_code, "heard": heard, "signed": len(request.headers)}), flush=True)
        self.send_response(answer.status_code)
        self.end_headers()
        self.wfile.write(answer.content)
        if any("goodbye" in str(said) for said in heard):
            threading.Thread(target=self.server.shutdown).start()

    def log_message(self, *_):
        pass


server = HTTPServer(("127.0.0.1", 0), Receiver)
print(json.dumps({"url": f"http://127.0.0.1:{server.server_port}/events"}), flush=True)
server.serve_forever()
