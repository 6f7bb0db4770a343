"""Voters that a server invents."""

from __future__ import annotations

import random

from tests.collaboration.remote._site import NAMES, budget, trained

from secretballot import SkellamMax
from secretballot.parties import Agreement
from secretballot.parties._stream import MessageError
from secretballot.parties._terms import VoteTerms


def test_voters_that_a_server_invents(counts):
    rng = random.Random(0)
    agreement = Agreement(
        mechanism=SkellamMax(variance=60.0, n_parties=4, n_colluders=2), parties=NAMES
    )
    party = trained("south", budget())
    terms = VoteTerms(agreement, party.classes, None, "trusted")
    odd = ["ghost", "South", "south ", "", "south\0", "ŝouth", None, 3, ["south"], {"a": 1}]
    n_refused, n_paid = 0, 0
    for _ in range(4_000):
        voters = rng.sample(NAMES, rng.randint(0, 5))
        if rng.random() < 0.5:
            voters += [f"ghost {at}" for at in range(rng.choice([1, 2, 200]))]
        if rng.random() < 0.3:
            voters.append(rng.choice([*odd, *NAMES]))
        rng.shuffle(voters)
        fields = {"columns": [0, 1], "weight": 1.0, "voters": voters}
        try:
            motion = terms.motion(fields, "south", (0, 1), "centre")
        except MessageError:
            n_refused += 1
            continue
        n_paid += 1
        # Who votes was agreed on, and two who tell their noise leave what is paid for.
        assert set(motion.voters) <= set(NAMES) - {"centre"}
        assert len(motion.voters) == len(voters) <= 4
        assert (len(voters) - 2) * motion.mechanism.share_variance >= 60.0 * (1 - 1e-12)
    assert min(n_refused, n_paid) > 50
    counts("lists of voters that were invented or doubled, refused", n_refused)
    counts("lists of voters that were agreed on", n_paid)
