"""A question as a party puts it to an aggregator elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from secretballot._sklearn_compat import _num_samples
from secretballot.collaboration._answer import Answer
from secretballot.collaboration._voter import VoteRefusedError
from secretballot.collaboration.remote._meeting import Met
from secretballot.collaboration.remote._message import Message, MessageError
from secretballot.collaboration.remote._table import put_table
from secretballot.collaboration.remote._told_answer import heard


def put(X: Any, meet: Callable[[], Met], timeout: float) -> Answer:
    """Return the answer to a question, which has a connection of its own.

    Parameters
    ----------
    X : table
    meet : callable
        Connects, when it is known that X can be sent.
    timeout : float
        Seconds to wait for the answer.
    """
    words, arrays = put_table(X)
    channel, terms, _ = meet()
    try:
        channel.answer(Message("ask", words, arrays))
        reply = channel.hear(timeout)
        if reply.kind == "refused":
            channel.answer(Message("thanks"))
            raise VoteRefusedError(str(reply.words.get("why")))
        if reply.kind != "answer":
            channel.refuse(f"{reply.kind!r} is no answer to a question")
        try:
            answer = heard(reply, terms, _num_samples(X))
        except MessageError as error:
            channel.refuse(f"the answer can't be read: {error}")
        channel.answer(Message("thanks"))
        return answer
    finally:
        channel.close()
