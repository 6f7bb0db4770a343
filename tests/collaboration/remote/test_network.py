"""Messages that are lost, altered, cut off, too long, or no messages."""

import struct
import threading
from contextlib import ExitStack, closing

import numpy as np
import pytest
from tests.collaboration.remote._proxy import Proxy
from tests.collaboration.remote._room import raw, room
from tests.collaboration.remote._site import ROWS, Halting, budget, trained

from secretballot.collaboration import ChannelError, VoteRefusedError
from secretballot.collaboration.remote._message import Message

#: Seconds that a lost message is waited for; the others answer in a hundredth of that.
PATIENCE = 5.0


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
        ("lost", "no message came, or could be sent, in time"),
        ("altered", "a message was altered on its way"),
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
        member = here.member(south, address=proxy.address).start()

        answer = here.member("centre").ask(ROWS)

        assert answer.voters == ("east", "west")
        assert answer.absent["south"].startswith(reason)
        member._thread.join()
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


def header(magic=b"SBAL", version=1, words=2, size=0):
    return struct.pack("!4sHIQ", magic, version, words, size)


@pytest.mark.parametrize(
    ("says", "reason"),
    [
        (header(size=2**40), "a message of 1,099,511,627,778 bytes came"),
        (header(words=2**30), "a message of 1,073,741,824 bytes came"),
        (header(magic=b"\x80\x04\x95K"), "what came is no message of secretballot"),
        (header(version=2), "messages are of version 2, and here of version 1"),
        (header() + b"{}", "the words of a message can't be read"),
        (header(words=10**5) + b"[" * 10**5, "the words of a message can't be read"),
        (header(words=100) + b"{}{", "the connection was lost"),
    ],
)
def test_what_is_no_message(says, reason, authority, caplog):
    with room(authority) as here, raw(here, "south") as channel:
        channel._secure.sendall(says)
        if not says.endswith(b"}{"):  # which is waited for
            with pytest.raises(ChannelError, match="the connection was lost"):
                channel.hear(60)
    assert reason in caplog.text


#: What a party says instead of an answer, by what it was asked.
LATE = Message("reserved")  # under another number
NONSENSE = [
    ("reserve", LATE),
    ("invite", Message("columns", {})),
    ("invite", Message("invited", {"columns": [0, 1, 2]})),
    ("invite", Message("invited", {"columns": [1, 0]})),
    ("invite", Message("invited", {"columns": None})),
    ("invite", Message("invited", {"columns": "1" * 1_000})),
    ("invite", Message("1" * 1_000)),
    ("invite", Message("cast", {}, [np.zeros(2, np.uint8)])),
    ("reserve", Message("cast", {}, [np.zeros(2, np.uint8)])),
    ("reserve", Message("cannot", {"why": "its own reasons"})),
    ("cast", Message("cast", {}, [np.zeros(3, np.uint8)])),
    ("cast", Message("cast", {}, [np.full(2, 2, np.uint8)])),
    ("cast", Message("cast", {}, [np.zeros(2)])),
    ("cast", Message("cast", {}, [])),
    ("cast", Message("cannot", {"why": "budget"})),
]


@pytest.mark.parametrize(("when", "says"), NONSENSE)
def test_nonsense_makes_absent(when, says, authority):
    with room(authority) as here, ExitStack() as stack:
        for name in ("east", "west"):
            here.voter(name)
        channel = stack.enter_context(raw(here, "south", Message("join", {"ledger": "its own"})))
        assert channel.hear(60).kind == "joined"
        channel.answer(Message("here"))
        right = {
            "invite": Message("invited", {"columns": [0, 1]}),
            "reserve": Message("reserved"),
            "here": Message("here"),
        }
        seen = []

        def act():
            try:
                while True:
                    asked = channel.hear(60).kind
                    seen.append(asked)
                    late = says is LATE and asked == when
                    channel._heard -= late
                    channel.answer(says if asked == when else right[asked])
                    channel._heard += late
            except ChannelError:
                pass

        acting = threading.Thread(target=act)
        acting.start()
        answer = here.member("centre").ask(ROWS)
        acting.join()
        assert seen[-1] == when
        assert answer.voters == ("east", "west")
        assert list(answer.absent) == ["south"]
        # What it says is told to nobody: there may be more of it than an answer can hold.
        assert len(answer.absent["south"]) < 100
        assert here.server.present == ("east", "west")


def test_an_asker_that_says_nonsense(authority):
    with room(authority) as here:
        for arrays in ([np.zeros((2, 2))] * 2, [np.zeros((0, 2))], []):
            asked = Message("ask", {"table": "array"}, arrays)
            with raw(here, "south", asked) as channel:
                refused = channel.hear(60)
                assert refused.kind == "refused"
                assert refused.words["why"].startswith("the aggregator can't read the rows")


def test_a_question_that_is_too_long(authority):
    with room(authority, max_bytes=10_000) as here:
        rows = np.ones((1_000, 2))
        with pytest.raises(ValueError, match="longer than max_bytes=10,000"):
            here.member("south", max_bytes=10_000).ask(rows)
        with pytest.raises(ChannelError, match="the connection was lost"):
            here.member("south").ask(rows)
        with pytest.raises(VoteRefusedError, match="fewer than min_voters"):
            here.member("south").ask(ROWS)
