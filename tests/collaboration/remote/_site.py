"""What runs in processes of their own: a party that may die or wait on the way, and a server."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import numpy as np
from sklearn.tree import DecisionTreeClassifier
from tests.transport._certificates import credentials

from secretballot.accounting import PrivacyAccountant
from secretballot.mechanisms import GNMax
from secretballot.parties import Agreement, ChannelError, Membership, Party, VoteServer

NAMES = ("centre", "east", "north", "south", "west")
#: A hundred standard deviations lie between three votes and none.
AGREEMENT = Agreement(mechanism=GNMax(sigma=0.02), parties=NAMES, weights={"south": 2.0})
#: All parties say 1, 0.
ROWS = np.array([[1.0, 0.0], [-1.0, 0.0]])
PLENTY = 1e9


def budget(path=None, epsilon=PLENTY):
    if path is not None and Path(path).exists():
        return PrivacyAccountant.open(path)
    return PrivacyAccountant(epsilon, 1e-5, ledger=path)


def trained(name, accountant, *, kind=Party, n_columns=2, **parameters):
    """A party that says of a row whether its first number is above 0."""
    X = np.zeros((20, n_columns))
    X[:, 0] = np.linspace(-1, 1, 20)
    party = kind(
        DecisionTreeClassifier(max_depth=1, random_state=0),
        name=name,
        accountant=accountant,
        **(parameters or {"classes": [0, 1]}),
    )
    y = (X[:, 0] > 0).astype(int)
    if party.labels is None:
        return party.fit(X, np.array(party.classes)[y])
    return party.fit(X, np.tile(y[:, None], len(party.labels)))


def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)


class Halting(Party):
    """Dies at a stage, or tells that it is there and waits to be let go on."""

    dies = waits = None

    def _at(self, stage):
        if self.waits == stage:
            self.connection.send(stage)
            self.connection.recv()
        if self.dies == stage:
            die()

    def reserve(self, question, motions):
        self._at("before reserve")
        super().reserve(question, motions)
        self._at("after reserve")

    def cast(self, question):
        if self.dies == "while casting":
            self._model.predict = die
        ballots = super().cast(question)
        self._at("cast")
        return ballots

    def close(self, question, tallies):
        self._at("before close")
        if self.dies == "during close":
            self.accountant.settle = die  # after it was recorded
        super().close(question, tallies)


def site(connection, folder, address, name, ledger, options):
    """Vote, and say when a connection begins or is lost; a new address lets it go on."""
    party = trained(name, budget(ledger), kind=Halting)
    party.connection = connection
    party.dies, party.waits = options.get("dies"), options.get("waits")
    membership = Membership(
        party,
        address,
        credentials=credentials(Path(folder), name),
        agreement=AGREEMENT,
        timeout=options.get("timeout", 60),
        max_bytes=options.get("max_bytes", 2**30),
    )
    if options.get("asks"):
        membership.ask(ROWS)
    while address:
        membership.address = address
        try:
            membership.connect()
            connection.send("there")
            membership.serve()
            connection.send("ended")
        except ChannelError as error:
            connection.send(f"lost: {error}")
        address = connection.recv()


def serve(connection, folder, options):
    """Hold votes until the process ends."""
    server = VoteServer(
        AGREEMENT, classes=[0, 1], credentials=credentials(Path(folder), "server"), **options
    )
    with server:
        connection.send(server.address)
        server.serve_forever()
