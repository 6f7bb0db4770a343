"""A connection that is cut at any message: what was returned is recorded, and nothing else is."""

import pytest
from tests._fakes import Pure, basic_budget, spend, votes
from tests.ledger.server._proxy import CuttingProxy

from secretballot.accounting import LedgerError, PrivacyAccountant
from secretballot.ledger import _guard
from secretballot.ledger._server_connection import close_unused

QUARTER = Pure(epsilon=0.25)


@pytest.fixture
def proxy(server):
    proxy = CuttingProxy(server)
    yield proxy
    proxy.close()


@pytest.fixture
def through(proxy, server, url, monkeypatch):
    """Accountant behind the proxy, each of whose releases sends the same messages."""
    monkeypatch.setattr("secretballot.ledger._ledger.CHECKPOINT_EVERY", 10**6)
    basic_budget(url, epsilon=1e6)
    return PrivacyAccountant.open(url.replace(str(server.folder), str(proxy.folder)))


def n_entries(url):
    return PrivacyAccountant.open(url)._ledger.verify().n_entries


def messages_of_a_release(proxy, through):
    spend(through)
    close_unused()
    proxy.cut(0)
    spend(through)
    return proxy.n_messages


def cut_at(proxy, through, url, at, **how):
    """Release with a cut; return what came of it, after a check of the ledger."""
    before = n_entries(url)
    close_unused()
    proxy.cut(at, **how)
    try:
        answer, error = through.release(QUARTER, votes(1)).tolist(), ""
    except LedgerError as refused:
        answer, error = None, str(refused)
    reached = proxy.n_messages >= at
    proxy.cut(0)
    recorded = n_entries(url) - before
    # The next release is not kept waiting, and counts.
    spend(through)
    assert n_entries(url) == before + recorded + 1
    assert reached
    return answer, recorded, error


def check_cuts(proxy, through, url, moments):
    outcomes = []
    for is_answered in (False, True):
        for at in moments:
            answer, recorded, error = cut_at(proxy, through, url, at, is_answered=is_answered)
            assert recorded == (answer is not None), (at, is_answered, error)
            assert answer == [0] or "Nothing was released" in error
            outcomes.append((at, is_answered, recorded))
    return outcomes


def test_at_some_messages(proxy, through, url):
    last = messages_of_a_release(proxy, through)
    outcomes = check_cuts(proxy, through, url, [1, *range(4, last - 1, 9), last - 1, last])
    # The last message is COMMIT: where its reply was lost, the entry was looked up, and found.
    assert (last, False, 0) in outcomes
    assert (last, True, 1) in outcomes


@pytest.mark.slow
def test_at_every_message(proxy, through, url):
    last = messages_of_a_release(proxy, through)
    outcomes = check_cuts(proxy, through, url, range(1, last + 1))
    assert (last, True, 1) in outcomes


@pytest.mark.parametrize("is_answered", [False, True])
def test_a_server_that_can_not_be_asked(proxy, through, url, monkeypatch, is_answered):
    """Nothing is returned, and the entry counts as charged, whether it is there or not."""
    last = messages_of_a_release(proxy, through)
    monkeypatch.setattr(_guard, "BUSY_TIMEOUT", 0.3)
    answer, recorded, error = cut_at(
        proxy, through, url, last, is_answered=is_answered, stays_down=True
    )
    assert (answer, recorded) == (None, int(is_answered))
    assert "Count it as charged" in error
    head = PrivacyAccountant.open(url).entries()[-2]
    assert (head.digest in error) is is_answered


@pytest.mark.parametrize("is_answered", [False, True])
def test_a_creation_whose_commit_is_cut(proxy, server, url, is_answered):
    through = url.replace(str(server.folder), str(proxy.folder))
    basic_budget(url + "-first")
    close_unused()
    proxy.cut(0)
    basic_budget(through + "-second")
    last = proxy.n_messages
    close_unused()
    proxy.cut(last, is_answered=is_answered)
    if is_answered:
        spend(basic_budget(through))
    else:
        with pytest.raises(LedgerError, match="is not in it. Nothing was released or charged"):
            basic_budget(through)
        spend(basic_budget(through))
    assert n_entries(url) == 1


def test_a_commit_that_is_forgotten_would_be_noticed(proxy, through, url, monkeypatch):
    """The same check, with a store that takes a lost reply for a failure."""
    from secretballot.ledger._server_store import ServerStore

    def fail(self, mark, lost):
        raise LedgerError("Nothing was released")

    last = messages_of_a_release(proxy, through)
    monkeypatch.setattr(ServerStore, "_check_recorded", fail)
    with pytest.raises(AssertionError, match="True, 'Nothing was released'"):
        check_cuts(proxy, through, url, [last])


def test_a_session_that_the_server_ended_is_begun_anew(server, url):
    """Sessions that are not used are ended, as are those of a server that was restarted."""
    accountant = basic_budget(url)
    for use in (lambda: spend(accountant), lambda: accountant._ledger.transact(lambda _: None)):
        spend(accountant)
        server.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE application_name = 'secretballot'"
        )
        use()
    assert n_entries(url) == 3
