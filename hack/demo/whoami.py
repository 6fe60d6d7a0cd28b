#!/usr/bin/env python3
"""An HTTP server that answers with the address it was asked from; path /big: 20 MB."""

import http.server
import sys


class WhoAmI(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = b"x" * 20_000_000 if self.path == "/big" else f"{self.client_address[0]}\n".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


http.server.ThreadingHTTPServer(("", int(sys.argv[1])), WhoAmI).serve_forever()
