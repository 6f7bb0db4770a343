"""Hostile bytes at a port and hostile messages, from what is right."""

from __future__ import annotations

import json
import ssl
from contextlib import suppress

import grpc
import numpy as np
from tests.attacks._mutations import mutated_bytes, mutated_words
from tests.collaboration.remote._site import NAMES, ROWS, budget, trained

from secretballot._base._errors import BudgetExceededError
from secretballot.mechanisms import GNMax
from secretballot.parties import Agreement, Answer, TermsError, TrustedAggregator
from secretballot.parties._aggregator import Absent
from secretballot.parties._membership import Session
from secretballot.parties._question import Question
from secretballot.parties._stream import ChannelError, Message, MessageError, Stream, Traffic
from secretballot.parties._table import encode_table
from secretballot.parties._terms import VoteTerms, check_terms, decode_answer, decode_outcome
from secretballot.parties._vote_server import RemoteVoter

AGREEMENT = Agreement(mechanism=GNMax(sigma=1.0), parties=NAMES, weights={"south": 2.0})
TERMS = VoteTerms(AGREEMENT, (0, 1), None, "trusted")
FIELDS, BODY = encode_table(ROWS)
VOTE = {"columns": [0, 1], "weight": 2.0, "voters": ["east", "south", "west"]}

#: A conversation with a party, from the invitation to the end of a vote.
ASKED = [
    Message("invite", {**FIELDS, "question": "q", "asker": "centre"}, BODY),
    Message("reserve", {"question": "q", "motions": [VOTE]}),
    Message("cast", {"question": "q"}),
    Message("close", {"question": "q", "tallies": [{"n_rows": 2, "n_answers": None}]}),
]
VOID = Message("void", {"question": "q"})
#: What a party answers.
ANSWERED = [
    Message("invited", {"columns": [0, 1]}),
    Message("reserved"),
    Message("cast", {}, bytes([1, 0])),
    Message("closed"),
]
#: What the server answers who asked.
TOLD = {"question": "q", "voters": ["east", "west"], "absent": {"south": "it is late"}}
#: What a server is sent, by method.
SENT = {
    "terms": Message("terms"),
    "join": Message("join", {"ledger": "its own"}),
    "ask": Message("ask", FIELDS, BODY),
    "outcome": Message("outcome", {"question": "q"}),
}


def mutated(rng, message):
    """A message with mistakes in its words, or its body."""
    kind, fields, body = message.kind, message.fields, message.body
    which = rng.integers(0, 8)
    if which == 0:
        kinds = ["", "invite", "reserve", "cast", "close", "end", "q" * 99, "void"]
        kind = kinds[rng.integers(0, len(kinds))]
    if which < 5:
        fields = mutated_words(rng, fields)
    if which > 3:
        body = mutated_bytes(rng, body)
    return Message(kind, fields, body)


def pieces(rng, message):
    """A message as pieces that somebody else may have written."""
    head = {"kind": message.kind, "size": len(message.body), "fields": message.fields}
    sent = [json.dumps(head).encode(), bytes(message.body)]
    which = rng.integers(0, 4)
    if which < 2:
        body = bytes(mutated(rng, message).body)
        head = mutated_words(rng, {**head, "size": len(body)})
        sent = [json.dumps(head).encode(), body]
    elif which == 2:
        sent[0] = mutated_bytes(rng, sent[0])
    else:
        sent.insert(int(rng.integers(0, 3)), mutated_bytes(rng, b"[" * 50))
    return [piece for piece in sent if piece or rng.integers(0, 9) == 0]


def lie_to_a_party(rng):
    """Say wrong things in the middle of a vote; return how many were taken."""
    party = trained("south", budget())
    session, taken = Session(party, TERMS, max_bytes=2**16), 0
    right = [*ASKED[: rng.integers(0, 5)]]
    for message in right:
        session.answer(message)
    for _ in range(20):
        n_entries = len(party.accountant.entries())
        with suppress(MessageError):
            source = ASKED + [VOID]
            message = mutated(rng, source[rng.integers(0, len(source))])
            kind = session.answer(message).kind
            taken += 1
            assert kind != "cast" or n_entries, "a ballot that nobody paid for"
    paid = [entry for entry in party.accountant.entries() if entry.n_rows]
    for entry in paid:
        assert "GNMax" in entry.mechanism
        assert '"sigma":1.0' in entry.mechanism.replace(" ", "")
        assert '"weight":2.0' in entry.mechanism.replace(" ", "")
    return taken


def lie_to_a_server(rng):
    """Answer a vote with wrong things; return whether they were taken."""
    answers = list(ANSWERED)
    at = int(rng.integers(0, len(answers)))
    answers[at] = mutated(rng, answers[at])
    sent = [piece for message in answers[:at] for piece in message.pieces()]
    hostile = answers[at]
    try:
        sent += list(hostile.pieces())
    except ValueError:  # not even JSON
        sent += pieces(rng, hostile)
    sent += [piece for message in answers[at + 1 :] for piece in message.pieces()]
    stream = Stream("south", Traffic()).attach(iter(sent), lambda: None)
    voter = RemoteVoter("its own", stream, 60)
    question = Question(
        id="q", asker="centre", X=np.empty((2, 0)), classes=TERMS.classes, labels=None
    )
    motion = AGREEMENT.motion((0, 1), VOTE["voters"], None)
    try:
        voter.begin_invite(question, FIELDS, BODY)
        columns = voter.invite(question)
        assert set(columns) <= {0, 1}
        voter.reserve(question, [motion.sent_to("south")])
        (ballots,) = voter.cast(question)
        assert ballots.shape == (2,)
        assert set(ballots.tolist()) <= {0, 1}
        voter.close(question, [])
    except (Absent, BudgetExceededError, ChannelError) as gone:
        reason = str(gone)
    else:
        return True
    assert len(reason) < 200
    return False


def lie_to_an_asker(rng):
    """Tell an asker wrong terms, answers and outcomes; return whether they were taken."""
    answer = mutated(rng, Message("answer", TOLD, np.array([1, -1], np.int8).tobytes()))
    try:
        match int(rng.integers(0, 3)):
            case 0:
                answer_read = decode_answer(answer.fields, answer.body, TERMS, 2)
            case 1:
                fields = {"state": "opened", "n_rows": 2, "answer": answer.fields}
                outcome = Message("outcome", mutated_words(rng, fields), answer.body)
                answer_read = decode_outcome("q", outcome, TERMS).answer
            case _:
                party, said = trained("south", budget()), mutated_words(rng, TERMS.fields())
                assert check_terms(said, AGREEMENT, party, TrustedAggregator()) == TERMS
                return True
    except (MessageError, TermsError):
        return False
    if answer_read is not None:
        assert isinstance(answer_read, Answer)
        assert answer_read.labels.shape == (2,)
        assert repr(answer_read)
    return True


def hostile_call(rng, connection, timeout=20):
    """Call a method of a server with a wrong message; return whether it answered."""
    method = str(rng.choice([*SENT, "", "other"]))
    message = SENT.get(method, SENT["ask"])
    wrong = pieces(rng, message)
    path = f"/secretballot/{method}"
    call = connection._channel.stream_stream(path)(iter(wrong), timeout=timeout)
    answer, code = None, "OK"
    try:
        answer = next(call, None)
    except grpc.RpcError as error:
        code = error.code().name
    finally:
        call.cancel()
    assert code not in ("DEADLINE_EXCEEDED", "INTERNAL", "UNKNOWN"), (code, wrong)
    return answer is not None


def client_hello():
    """What a TLS connection begins with."""
    context, out = ssl.create_default_context(), ssl.MemoryBIO()
    context.set_alpn_protocols(["h2"])
    secure = context.wrap_bio(ssl.MemoryBIO(), out, server_hostname="votes.example.org")
    with suppress(ssl.SSLWantReadError):
        secure.do_handshake()
    return out.read()


def frame(kind, flags, stream, payload):
    """A frame of HTTP/2."""
    start = len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big")
    return start + payload


def http2():
    """A call of a server's method in HTTP/2, from its first byte."""
    headers = {
        ":method": "POST",
        ":scheme": "https",
        ":path": "/secretballot/terms",
        ":authority": "votes.example.org",
        "te": "trailers",
        "content-type": "application/grpc",
    }
    encoded_headers = b"".join(
        b"\x00" + bytes([len(name)]) + name.encode() + bytes([len(value)]) + value.encode()
        for name, value in headers.items()
    )
    message = b"".join(SENT["terms"].pieces())
    data = b"\x00" + len(message).to_bytes(4, "big") + message
    settings = frame(4, 0, 0, b"")
    ping = frame(6, 0, 0, bytes(8))
    return (
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
        + settings
        + frame(1, 4, 1, encoded_headers)
        + frame(0, 1, 1, data)
        + ping
    )
