"""Names that a certificate shows in odd ways: twice, up to a NUL, as another kind of name."""

import ipaddress
from datetime import UTC, datetime, timedelta

import pytest
from tests.transport._certificates import HOST, credentials

from secretballot.parties._channel import Connection, Server, certificate_names
from secretballot.parties._stream import ChannelError, Message

x509 = pytest.importorskip("cryptography.x509", reason="makes certificates for the tests")
hashes = pytest.importorskip("cryptography.hazmat.primitives.hashes")
ec = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.ec")
pem = pytest.importorskip("cryptography.hazmat.primitives.serialization")
SOON = 20


def signed(authority, common_names, *others, extensions=True):
    """A certificate of the authority, with its key, in PEM."""
    ca = x509.load_pem_x509_certificate(authority._ca.cert_pem.bytes())
    signs = pem.load_pem_private_key(authority._ca.private_key_pem.bytes(), None)
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    attributes = [x509.NameAttribute(x509.NameOID.COMMON_NAME, name) for name in common_names]
    attributes.append(x509.NameAttribute(x509.NameOID.ORGANIZATION_NAME, "west"))
    made = (
        x509.CertificateBuilder()
        .subject_name(x509.Name(attributes))
        .issuer_name(ca.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
    )
    if extensions:
        made = made.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    if others:
        made = made.add_extension(x509.SubjectAlternativeName(others), critical=False)
    key_file = key.private_bytes(
        pem.Encoding.PEM, pem.PrivateFormat.TraditionalOpenSSL, pem.NoEncryption()
    )
    return made.sign(signs, hashes.SHA256()).public_bytes(pem.Encoding.PEM), key_file


DNS, URI, MAIL = x509.DNSName, x509.UniformResourceIdentifier, x509.RFC822Name
HOSTS = [x509.IPAddress(ipaddress.ip_address(each)) for each in (HOST, "::1")]
DIRECTORY = x509.DirectoryName(x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "north")]))


@pytest.mark.parametrize(
    ("common_names", "others", "names"),
    [
        (["north"], [], ["north"]),
        (["żółć"], [DNS("south")], ["żółć", "south"]),
        (["north", "south"], [], ["north", "south"]),
        (["north\0.other"], [], ["north\0.other"]),
        ([], [DNS("north\0.other")], ["north\0.other"]),
        ([], [URI("north"), MAIL("north"), DIRECTORY], []),
        ([], HOSTS, [HOST, "::1"]),
        ([], [DNS(f"name-{at}") for at in range(999)], [f"name-{at}" for at in range(999)]),
    ],
)
@pytest.mark.parametrize("extensions", [False, True])
def test_names(common_names, others, names, extensions, authority):
    certificate, _ = signed(authority, common_names, *others, extensions=extensions)
    assert certificate_names(certificate) == set(names)


@pytest.mark.parametrize(
    ("common_names", "others", "message"),
    [
        (["north", "south"], [], "more than one party"),
        (["other", "north", "south"], [], "more than one party"),
        (["north\0.other"], [], "no party"),
        (["north\0.other"], [DNS("south\0")], "no party"),
        (["other"], [URI("north")], "no party"),
        (["other"], [MAIL("north")], "no party"),
        (["other"], [DIRECTORY], "no party"),
        (["north"], [], None),
        (["other", "north"], [], None),
        (["other"], [DNS("north")], None),
        (["north"], [DNS("north"), URI("south")], None),
    ],
)
def test_callers_are_named_by_certificates(common_names, others, message, authority):
    (authority.folder / "odd.pem").write_bytes(b"".join(signed(authority, common_names, *others)))

    def tell(stream):
        stream.receive(SOON)
        stream.send(Message("told", {"caller": stream.caller}))

    settings = {"credentials": authority.of_server(), "names": ["north", "south"]}
    with (
        Server((HOST, 0), {"tell": tell}, **settings) as server,
        Connection(server.address, credentials=credentials(authority.folder, "odd")) as connection,
    ):
        if message is None:
            reply = connection.ask("tell", Message("a"), timeout=SOON)
            assert reply.fields == {"caller": "north"}
        else:
            with pytest.raises(ChannelError, match=message):
                connection.ask("tell", Message("a"), timeout=SOON)


def test_bytes_that_are_no_certificate(authority):
    certificate, _ = signed(authority, ["north"], DNS("north"))
    for size in range(0, len(certificate) - 1, 7):
        with pytest.raises(ValueError, match="PEM|parse|certificate|framing"):
            certificate_names(certificate[:size])
