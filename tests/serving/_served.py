"""A page of a ledger that is served on loopback, and requests to it."""

import http.client
import threading
from contextlib import contextmanager
from types import SimpleNamespace

from secretballot.serving import LedgerPage, PageServer

#: A name, a note or a level that would act where it is not escaped.
HOSTILE = "\"><script>document.title='run'</script><img src=x onerror=alert(2)>&lt;\x1b[2J\u202e"


@contextmanager
def served(path, witness=None, **options):
    """Serve the page of a ledger; `ask` returns status, headers and text of a request."""
    complaints = []
    page = LedgerPage(path, witness, complaints.append)
    with PageServer(page, **options) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()

        def ask(path="/", method="GET", timeout=30, **headers):
            connection = http.client.HTTPConnection(*server.server_address[:2], timeout=timeout)
            try:
                connection.putrequest(method, path, skip_host="Host" in headers)
                for name, value in headers.items():
                    connection.putheader(name.replace("_", "-"), value)
                connection.endheaders()
                answer = connection.getresponse()
                return answer.status, answer.headers, answer.read().decode()
            finally:
                connection.close()

        try:
            yield SimpleNamespace(server=server, ask=ask, complaints=complaints)
        finally:
            server.shutdown()
            thread.join(30)
