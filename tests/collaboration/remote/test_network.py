"""Messages that are lost, altered, cut off, too long, or no messages."""

import threading
from contextlib import ExitStack, closing

import numpy as np
import pytest
from tests.collaboration.remote._proxy import Proxy
from tests.collaboration.remote._room import raw, room
from tests.collaboration.remote._site import ROWS, Halting, budget, trained

from secretballot.parties import ChannelError, VoteRefusedError
from secretballot.parties._stream import Message

#: Seconds that a lost message is waited for; the others answer in a hundredth of that.
PATIENCE = 1.5


class Waiting:
    """What a halting party talks to: lets the test act before the party goes on."""

    def __init__(self, act):
        self._act = act

    def send(self, stage):
        self._act()

    def recv(self):
        return "go on"


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("lost", "no message came in time"),
        ("altered", "the connection was lost"),
        ("cut", "the connection was lost"),
    ],
)
def test_a_ballot_that_does_not_arrive(fault, reason, authority):
    with (
        room(authority, timeout=PATIENCE) as here,
        closing(Proxy(here.server.address, fault)) as proxy,
    ):
        others = [here.voter(name) for name in ("east", "west")]
        south = trained("south", budget(), kind=Halting)
        south.waits, south.connection = "cast", Waiting(proxy.arm)
        member = here.member(south, address=proxy.address, timeout=PATIENCE).start()

        answer = here.member("centre").ask(ROWS)

        assert answer.voters == ("east", "west")
        assert answer.absent["south"].startswith(reason)
        member._thread.join(60)
        assert isinstance(member.fault, ChannelError)
        # It does not know what became of its ballot: it paid in full. The others paid once.
        paid = budget()
        paid.reserve(here.agreement.mechanism, len(ROWS), n_columns=2)
        for other in others:
            spent = other.party.accountant.spent().share
            assert spent == pytest.approx(paid.spent().share, rel=1e-9)
        assert south.accountant.spent().share > paid.spent().share  # its weight is 2

        south.waits = None
        with here.member(south):  # again, and not through the proxy
            assert here.member("centre").ask(ROWS).voters == ("east", "south", "west")


#: What a party says instead of an answer, by what it was asked.
NONSENSE = [
    ("invite", Message("columns", {})),
    ("invite", Message("invited", {"columns": [0, 1, 2]})),
    ("invite", Message("invited", {"columns": [1, 0]})),
    ("invite", Message("invited", {"columns": None})),
    ("invite", Message("invited", {"columns": "1" * 1_000})),
    ("invite", Message("1" * 1_000)),
    ("invite", Message("cast", {}, bytes(2))),
    ("reserve", Message("reserved", {}, bytes(2))),
    ("reserve", Message("cannot", {"why": "its own reasons"})),
    ("cast", Message("cast", {}, bytes(3))),
    ("cast", Message("cast", {}, bytes([2, 2]))),
    ("cast", Message("cast", {}, bytes(1))),
    ("cast", Message("cast", {}, bytes(6 * 10**6))),
    ("cast", Message("cannot", {"why": "budget"})),
]


@pytest.mark.parametrize(("when", "says"), NONSENSE, ids=range(len(NONSENSE)))
def test_nonsense_makes_absent(when, says, authority):
    with room(authority) as here, ExitStack() as stack:
        for name in ("east", "west"):
            here.voter(name)
        stream = stack.enter_context(raw(here, "south", "join", Message("join", {"ledger": "own"})))
        assert stream.receive(60).kind == "joined"
        right = {
            "invite": Message("invited", {"columns": [0, 1]}),
            "reserve": Message("reserved"),
        }
        seen = []

        def act():
            try:
                while True:
                    asked = stream.receive(60, 2**20).kind
                    seen.append(asked)
                    stream.send(says if asked == when else right[asked])
            except ChannelError:
                pass

        acting = threading.Thread(target=act, daemon=True)
        acting.start()
        answer = here.member("centre").ask(ROWS)
        acting.join(60)
        assert seen[-1] == when
        assert answer.voters == ("east", "west")
        assert list(answer.absent) == ["south"]
        # What it says is told to nobody: there may be more of it than an answer can hold.
        assert len(answer.absent["south"]) < 100
        assert here.server.present == ("east", "west")


@pytest.mark.parametrize(
    "says",
    [
        Message("ask", {"table": "array", "arrays": [["<f8", [2, 2]]]}, bytes(64)),
        Message("ask", {"table": "array", "arrays": [["<f8", [0, 2]]]}),
        Message("ask", {"table": "array"}),
        Message("thanks", {}, bytes(600)),
    ],
)
def test_an_asker_that_says_nonsense(says, authority):
    with room(authority) as here, raw(here, "south", "ask", says) as stream:
        refused = stream.receive(60)
        assert refused.kind == "refused"
        assert refused.fields["why"].startswith("the aggregator can't read the rows")


@pytest.mark.parametrize("method", ["join", "terms", "outcome"])
def test_fields_with_a_body(method, authority):
    # 600 MB of thanks were read once; now nothing is that has no place.
    says = Message("thanks", {}, b"x")
    with room(authority) as here, raw(here, "south", method, says) as stream:
        with pytest.raises(ChannelError, match="body of 1 bytes came, and 0 are allowed"):
            stream.receive(60)
        assert here.server._server._n_bytes == 0


def test_a_question_that_is_too_long(authority):
    with room(authority, max_bytes=10_000) as here:
        rows = np.ones((1_000, 2))
        with pytest.raises(ValueError, match="16,000 bytes, and max_bytes=10,000"):
            here.member("south", max_bytes=10_000).ask(rows)
        with pytest.raises(ChannelError, match="16,000 bytes came, and 10,000 are allowed"):
            here.member("south").ask(rows)
        # Short rows, of which there are many: ballots of all are held at once.
        with pytest.raises(VoteRefusedError, match="ballots on 1 to 250 fit into max_bytes=10,000"):
            here.member("south").ask(rows[:300])
        with pytest.raises(VoteRefusedError, match="fewer than min_voters"):
            here.member("south").ask(ROWS)
