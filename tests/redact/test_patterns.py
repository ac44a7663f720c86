"""What looks like a credential goes, prose stays, and no text takes long."""

import importlib
import random
from typing import Any

import pytest

from surehand.redact import MARK, Redactor
from surehand.redact.patterns import CASED, FOLDED, fold

REDACTOR = Redactor()

JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"
PEM = (
    "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nMIIEpAIBAAKCAQEA7\nq9+/=\n-----END RSA PRIVATE KEY-----"
)

# Text, and what has to be gone. The credentials are made up, and cut apart so that no scanner takes them for real.
CREDENTIALS = [
    ("postgresql://app:hunter2@db.internal:5432/app", "hunter2"),
    ("postgresql+psycopg://app:p%40ss-w0rd@db/app", "p%40ss-w0rd"),
    ("amqp://user:p@ss@rabbit:5672", "p@ss"),
    ("redis://:hunter2@cache", "hunter2"),
    ("see <https://alice:hunter2@example.com/x> and more", "hunter2"),
    ("Authorization: Bearer abcDEF123456._~+/-==", "abcDEF123456"),
    ("authorization: bearer ABCDEFGH12345678", "ABCDEFGH12345678"),
    ("Authorization: Basic YWxhZGRpbjpvcGVuc2VzYW1l", "YWxhZGRpbjpvcGVuc2VzYW1l"),
    ("curl -H 'Authorization: token 0123456789abcdef'", "0123456789abcdef"),
    ('{"Authorization": "ApiKey abcdefgh"}', "abcdefgh"),
    (r"{\"Authorization\": \"opaquevalue\"}", "opaquevalue"),
    ("used Basic dXNlcjpwYXNz here", "dXNlcjpwYXNz"),
    ("Bearer abcdefghijklmnopqrstuvwxyz", "abcdefghijklmnopqrstuvwxyz"),
    ("?x=Bearer%20abc123def456", "abc123def456"),
    (PEM, "MIIEpAIBAAKCAQEA7"),
    ("key: " + PEM.replace("\n", "\\n") + " end", "q9+/="),
    (PEM[:70], "4,ENCR"),
    ("-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk", "b3BlbnNzaC1rZXk"),
    ("-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nlQdGBF-x\n-----END PGP PRIVATE KEY BLOCK-----", "lQdGBF"),
    ("id AKIA" + "IOSFODNN7EXAMPLE.", "IOSFODNN7EXAMPLE"),
    ("xASIA" + "IOSFODNN7EXAMPLEx", "IOSFODNN7EXAMPLE"),
    (f"token {JWT} used", "eyJ"),
    (f"a.b.{JWT}", "dozjgNryP4J3"),
    (f"x{JWT}.y.z", "eyJzdWIi"),
    ("eyJhbGciOiJub25lIn0.eyJzdWIiOiIxIn0.", "eyJzdWIi"),
    ("ghp_" + "a1B2" * 9, "a1B2"),
    ("github_pat_" + "11AAAAAAA0" * 3, "11AAAAAAA0"),
    ("glpat-" + "abcdEFGH12345678-_xx", "abcdEFGH"),
    ("xoxb-" + "123456789012-abcdefABCDEF", "123456789012"),
    ("xapp-1-A012-" + "3456789-abc", "3456789"),
    ("https://hooks.slack.com/services/" + "T000/B000/XXXXXXXXXXXXXXXX", "XXXXXXXX"),
    ("sk_live_" + "4eC39HqLyjWDarjtT1", "4eC39"),
    ("rk_test_" + "4eC39HqLyjWDarjtT1", "4eC39"),
    ("whsec_" + "4eC39HqLyjWDarjtT1zdp7dc", "4eC39"),
    ("sk-proj-" + "abcdefghijklmnop_1234", "abcdefgh"),
    ("sk-ant-api03-" + "abcdefghijklmnop_1234", "abcdefgh"),
    ("AIza" + "SyA1234567890abcdefghijklmnopqrstuv", "SyA1234"),
    ("GOCSPX-" + "abcdefghijklmnopqrstuvwx", "abcdefgh"),
    ("ya29." + "a0AfH6SMBabcdefghijklm", "a0AfH6"),
    ("npm_" + "abcdefghijklmnopqrstuvwxyz0123456789", "abcdefgh"),
    ("pypi-AgE" + "IcHlwaS5vcmcCJGFiY2RlZg", "IcHlwaS5"),
    ("hf_" + "abcdefghijklmnopqrstuvwxyzABCDEFGH", "abcdefgh"),
    ("SG." + "abcdefghijklmnopqrstuv.wxyzABCDEFGHIJKLMNOP", "abcdefgh"),
    ("host=db user=app password=hunter2 dbname=app", "hunter2"),
    ("PGPASSWORD=hunter2 psql", "hunter2"),
    ("Server=x;Pwd=hunter2;Encrypt=yes", "hunter2"),
    ("password='hunter2 with spaces' x", "hunter2 with spaces"),
    ('{"db_password": "hun\\"ter2 x"}', "ter2"),
    (r"{\"password\": \"hunter2\", \"a\": 1}", "hunter2"),
    ("{'client_secret' : 'hunter2'}", "hunter2"),
    (r"password=\"hunter2\"", "hunter2"),
    ("https://x.test/cb?access_token=hunter2&state=1", "hunter2"),
    ("AccountKey=abc123==;EndpointSuffix=core", "abc123"),
]

HARMLESS = [
    "",
    "The basic information about bearer certificates is in the handbook.",
    "Basic authentication-mechanisms and bearer of bad news",
    "https://example.com:8080/path?email=a@b.example",
    "https://example.com/a:b@c and git@github.com:org/repo.git",
    "ssh://git@github.com/org/repo",
    "mail bob@example.com, ratio 3:4 @ home",
    "task-management-system-overview risk-assessment-for-the-project",
    "the password is required; tokens: 512",
    "next_page_token=abc is fine, see token CAEQAA12",
    "-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----",
    "eyJ is how it starts. eyJabc.def is short",
    "v1.2.3-rc.1 and 192.168.0.1 and a.b.c.d",
    "AKIA is a prefix, ghp_ too, sk-short as well",
    "\u05e9\u05dc\u05d5\u05dd \U0001f469\u200d\U0001f4bb caf\u00e9",
]


@pytest.mark.parametrize(("text", "secret"), CREDENTIALS)
def test_credentials_go(text: str, secret: str) -> None:
    assert secret in text
    shown = REDACTOR.text(text)
    assert secret not in shown
    assert MARK in shown
    assert REDACTOR.text(shown) == shown


@pytest.mark.parametrize(("text", "secret"), CREDENTIALS)
def test_what_stands_around_them_stays(text: str, secret: str) -> None:
    shown = REDACTOR.text(f"before\n{text}\nafter")
    assert shown.startswith("before\n")
    assert "PRIVATE KEY" in text or shown.endswith("\nafter")


@pytest.mark.parametrize("text", HARMLESS)
def test_prose_stays(text: str) -> None:
    assert REDACTOR.text(text) == text


def test_hosts_and_names_stay_readable() -> None:
    assert REDACTOR.text("postgresql://app:hunter2@db:5432/x") == f"postgresql://app:{MARK}@db:5432/x"
    assert REDACTOR.text("a password=hunter2 b") == f"a password={MARK} b"
    assert REDACTOR.text('{"password": "hunter2", "a": 1}') == f'{{"password": "{MARK}", "a": 1}}'


# Known values


def test_known_values_go_in_every_form_that_text_carries() -> None:
    value = 'p"\u00fc/ \u00e9\\\U0001f511&x'
    redactor = Redactor([value])
    for form in (
        value,
        '{"a": "p\\"\u00fc/ \u00e9\\\\\U0001f511&x"}',
        '{"a": "p\\"\\u00fc/ \\u00e9\\\\\\ud83d\\udd11&x"}',
        "?a=p%22%C3%BC%2F%20%C3%A9%5C%F0%9F%94%91%26x",
        "?a=p%22%C3%BC%2F+%C3%A9%5C%F0%9F%94%91%26x",
        "/p%22%C3%BC/%20%C3%A9%5C%F0%9F%94%91%26x",
    ):
        shown = redactor.text(form)
        assert MARK in shown
        assert "\u00fc" not in shown
        assert "%C3" not in shown
        assert "u00fc" not in shown


def test_the_longest_known_value_goes_first() -> None:
    assert Redactor(["abcd", "abcdefgh"]).text("x abcdefgh abcd") == f"x {MARK} {MARK}"


def test_short_known_values_go_only_as_a_whole() -> None:
    redactor = Redactor(["ab", ""])
    assert redactor.text("ab") == MARK
    assert redactor.text("cab") == "cab"
    assert redactor.text("") == ""
    assert redactor.text("[ab]") == "[ab]"


# Time


def megabytes() -> dict[str, str]:
    """Texts of a megabyte that make a careless pattern read them again from every position."""
    size = 1 << 20
    pieces = [
        "a", "A", "0", "-", "_", ".", "a.", "=", "@", ":", "/", "://", "://a:", "://a:b@", "://:", "a@", "\\", '"', " ",
        "eyJ", "eyJ.", "eyJa.eyJa", "-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----\n-", "-----BEGIN ",
        "----", "-----BEGIN A", "PRIVATE KEY", "bearer ", "bearer a", "basic\t", "Basic aaaaaaa", "authorization:",
        "authorization: a ", 'authorization\\"', "password", "password=", 'password="', 'password\\"', 'password="\\',
        'password":"', "'password' : '", "AKIA", "ghp_", "github_pat_", "xox", "xoxb-", "sk-", "sk_live_", "SG.",
        "SG.aaaaaaaaaaaaaaaa", "hooks.slack.com/services/", "whsec_", "AIza", "%20", "\u00fc", "\U0001f469\u200d",
    ]  # fmt: skip
    texts = {repr(piece): (piece * (size // len(piece) + 1))[:size] for piece in pieces}
    # All literals at once, so that every pattern is tried, before a long run of each kind.
    literals = " ".join(literal for pattern in (*CASED, *FOLDED) for literal in pattern.literals) + " eyJ "
    for run in ("a", "-", ".a", " ", "0=", "a:", '"'):
        texts[f"all before {run!r}"] = literals + (run * size)[:size]
        texts[f"all after {run!r}"] = (run * size)[:size] + literals
    mixed = random.Random(1)
    texts["mixed"] = "".join(mixed.choices([*pieces, " ", "x"], k=size // 8))
    return texts


TEXTS = megabytes()


@pytest.mark.parametrize("name", TEXTS)
def test_a_megabyte_takes_no_time(name: str) -> None:
    # Quadratic patterns need hours for one of these; the suite's limit of five seconds tells.
    Redactor(["known-value", "another", "aaaab"]).text(TEXTS[name])


def test_lower_case_keeps_places() -> None:
    every = "".join(map(chr, range(0x110000)))
    assert all(a.lower() == b or a == "\u0130" for a, b in zip(every, fold(every), strict=True))
    assert Redactor().text("\u0130\u0130 PASSWORD=hunter2 \u0130") == f"\u0130\u0130 PASSWORD={MARK} \u0130"


def test_no_pattern_repeats_a_repetition() -> None:
    """Looks at the parsed patterns: an unbounded loop inside an unbounded loop must be possessive."""
    parser: Any = importlib.import_module("re._parser")
    constants: Any = importlib.import_module("re._constants")

    def walk(node: Any, *, inside: bool) -> None:
        if isinstance(node, parser.SubPattern | list | tuple):
            for part in node:
                if isinstance(part, tuple) and part and part[0] in (constants.MAX_REPEAT, constants.MIN_REPEAT):
                    unbounded = part[1][1] is constants.MAXREPEAT
                    assert not (inside and unbounded)
                    walk(part[1][2], inside=inside or unbounded)
                else:
                    walk(part, inside=inside)

    for pattern in (*CASED, *FOLDED):
        walk(parser.parse(pattern.regex.pattern), inside=False)
