"""Slack's own signature verifier in both roles: it signs requests to our program, and verifies what the simulator sends."""

import json
import os
import threading
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, HTTPServer

from slack_sdk.signature import Clock, SignatureVerifier

verifier = SignatureVerifier(os.environ["SECRET"])


def report(**seen):
    print(json.dumps(seen), flush=True)


def signed(url, body, timestamp=None, signer=verifier, spoil=b""):
    timestamp = timestamp or str(int(Clock().now()))
    request = urllib.request.Request(url, data=body.encode() + spoil, headers={
        "Content-Type": "application/json",
        "X-Slack-Request-Timestamp": timestamp,
        "X-Slack-Signature": signer.generate_signature(timestamp=timestamp, body=body),
    })
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, ""


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        # It looks for the names in lower case, as most frameworks hand them on.
        headers = {name.lower(): value for name, value in self.headers.items()}
        valid = verifier.is_valid_request(body, headers)
        told = json.loads(body) if headers["content-type"].startswith("application/json") else {"type": "form"}
        spoiled = verifier.is_valid_request(body + b" ", headers)
        text = told.get("event", {}).get("text")
        report(type=told["type"], text=text, valid=valid, spoiled=spoiled)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(told.get("challenge", "").encode())
        if text and "goodbye" in text:
            threading.Thread(target=self.server.shutdown).start()

    def log_message(self, *_):
        pass


if url := os.environ.get("EVENTS_URL"):
    challenge = json.dumps({"type": "url_verification", "token": "x", "challenge": "ünïcödé ✓"}, ensure_ascii=False)
    status, text = signed(url, challenge)
    report(step="signed", status=status, given_back="ünïcödé ✓" in text)
    report(step="changed on its way", status=signed(url, challenge, spoil=b" ")[0])
    report(step="another secret", status=signed(url, challenge, signer=SignatureVerifier("another"))[0])
    report(step="six minutes old", status=signed(url, challenge, timestamp=str(int(Clock().now()) - 360))[0])
else:
    server = HTTPServer(("127.0.0.1", 0), Receiver)
    report(url=f"http://127.0.0.1:{server.server_port}/events")
    server.serve_forever()
