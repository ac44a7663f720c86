"""The keys: sealing, keyed hashes, signatures, and the file that holds them."""

import copy
import json
import os
import pickle
import re
import stat
import subprocess
import sys
import threading
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surehand.errors import ConfigError, StoreError
from surehand.secrets import Keyring, UnsealError, VerifyKey, keyfile, sealing

CONTEXT = "call:acme:0192:arguments"


@cache
def keyring() -> Keyring:
    return Keyring.ephemeral()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "keys.json"


# Sealing


@given(st.binary(max_size=2000), st.text(st.characters(codec="utf-8"), max_size=50))
def test_what_is_sealed_opens_in_its_context(plain: bytes, context: str) -> None:
    sealed = keyring().seal(plain, context=context)
    assert keyring().unseal(sealed, context=context) == plain


def test_the_same_value_is_sealed_differently_each_time() -> None:
    assert len({keyring().seal(b"x", context=CONTEXT) for _ in range(100)}) == 100


def test_another_context_does_not_open_it() -> None:
    sealed = keyring().seal(b"plain", context=CONTEXT)
    for other in ("", "call:acme:0192:result", "call:globex:0192:arguments"):
        with pytest.raises(UnsealError, match="belongs to another place"):
            keyring().unseal(sealed, context=other)


def test_every_flipped_bit_is_noticed() -> None:
    sealed = keyring().seal(b"plain", context=CONTEXT)
    for position in range(len(sealed) * 8):
        changed = bytearray(sealed)
        changed[position // 8] ^= 1 << position % 8
        with pytest.raises(UnsealError):
            keyring().unseal(bytes(changed), context=CONTEXT)


def test_every_cut_is_noticed() -> None:
    sealed = keyring().seal(b"plain", context=CONTEXT)
    for length in range(len(sealed)):
        with pytest.raises(UnsealError):
            keyring().unseal(sealed[:length], context=CONTEXT)


def test_an_unknown_key_is_said() -> None:
    sealed = Keyring.ephemeral().seal(b"plain", context=CONTEXT)
    with pytest.raises(UnsealError, match=r"sealing key \w{16} is not in the keyring") as caught:
        keyring().unseal(sealed, context=CONTEXT)
    assert isinstance(caught.value, StoreError)
    assert CONTEXT in str(caught.value)


def test_a_salt_is_used_for_a_bounded_number_of_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sealing, "MESSAGES_PER_SALT", 3)
    monkeypatch.setattr(sealing, "MAX_DERIVED", 4)
    ring = Keyring.ephemeral()
    sealed = [ring.seal(b"%d" % n, context=CONTEXT) for n in range(30)]
    assert len({value[: sealing.PREFIX_BYTES] for value in sealed}) == 10
    assert [ring.unseal(value, context=CONTEXT) for value in sealed] == [b"%d" % n for n in range(30)]


def test_threads_seal_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sealing, "MESSAGES_PER_SALT", 5)
    ring = Keyring.ephemeral()
    failures: list[BaseException] = []

    def work() -> None:
        try:
            for n in range(200):
                assert ring.unseal(ring.seal(b"%d" % n, context=CONTEXT), context=CONTEXT) == b"%d" % n
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


# Keyed hashes


def test_keyed_hashes_need_the_key() -> None:
    value = {"a": [1, "x", None]}
    assert keyring().keyed_hash(value) == keyring().keyed_hash({"a": [1, "x", None]})
    assert keyring().keyed_hash(value) != Keyring.ephemeral().keyed_hash(value)
    assert len(keyring().keyed_hash(value)) == 64


def test_values_and_bytes_are_hashed_apart() -> None:
    hashes = {keyring().keyed_hash(value) for value in (1, "1", b"1", '"1"', b'"1"', True, [1], None, b"", "")}
    assert len(hashes) == 10


def test_what_is_no_json_value_has_no_hash() -> None:
    with pytest.raises(TypeError):
        keyring().keyed_hash({"a": object()})


# Signatures


def test_signatures() -> None:
    signature = keyring().sign(b"data")
    assert keyring().verify(signature, b"data")
    assert not keyring().verify(signature, b"date")
    assert not Keyring.ephemeral().verify(signature, b"data")
    for wrong in ("", "zz", signature[:-2], signature + "00", "00" * 64):
        assert not keyring().verify(wrong, b"data")


def test_the_public_key_travels_as_text() -> None:
    key = VerifyKey.from_text(f" {keyring().verify_key.text}\n")
    assert key == keyring().verify_key
    assert hash(key) == hash(keyring().verify_key)
    assert key.text in repr(key)
    assert key.id == keyring().public_key_id
    assert key.verify(keyring().sign(b"data"), b"data")
    assert key != Keyring.ephemeral().verify_key


@pytest.mark.parametrize("text", ["", "ed25519:", "ed25519:00", "ssh-rsa AAAA", "ed25519:" + "g" * 64])
def test_what_is_no_public_key_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="public key"):
        VerifyKey.from_text(text)


def test_a_point_that_is_no_key_verifies_nothing() -> None:
    assert not VerifyKey(b"\xff" * 32).verify("00" * 64, b"data")


# The file


def test_the_file_is_made_once_and_read_again(path: Path) -> None:
    first = Keyring.open(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    again = Keyring.open(str(path))
    assert again.unseal(first.seal(b"x", context=CONTEXT), context=CONTEXT) == b"x"
    assert again.keyed_hash("x") == first.keyed_hash("x")
    assert again.verify(first.sign(b"x"), b"x")
    assert again.public_key_id == first.public_key_id
    assert again.index_key_id == first.index_key_id
    assert os.listdir(path.parent) == [path.name]


OPEN = """
import sys, time
from surehand.secrets import Keyring
while time.time() < float(sys.argv[2]): pass
print(Keyring.open(sys.argv[1]).keyed_hash("x"))
"""


def test_processes_that_race_get_the_same_keys(path: Path) -> None:
    import time

    start = str(time.time() + 0.5)
    racers = [
        subprocess.Popen([sys.executable, "-c", OPEN, str(path), start], stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    hashes = {racer.communicate()[0].strip() for racer in racers}
    assert hashes == {Keyring.open(path).keyed_hash("x")}
    assert os.listdir(path.parent) == [path.name]


def test_the_loser_of_a_race_keeps_nothing(path: Path) -> None:
    keyfile.create(path, keyfile.Keys.generate())
    before = path.read_bytes()
    keyfile.create(path, keyfile.Keys.generate())
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o610, 0o644, 0o777])
def test_a_file_that_others_can_use_is_refused(path: Path, mode: int) -> None:
    Keyring.open(path)
    path.chmod(mode)
    with pytest.raises(ConfigError, match=f"chmod 600 '{path}'"):
        Keyring.open(path)


def test_a_file_of_another_user_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Keyring.open(path)
    owner = path.stat().st_uid
    os.chown(path, 12345, -1) if os.geteuid() == 0 else monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    if path.stat().st_uid != 0:
        with pytest.raises(ConfigError, match="chown"):
            Keyring.open(path)


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot be read|not a regular file"):
        Keyring.open(tmp_path)
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo, 0o600)
    with pytest.raises(ConfigError, match="not a regular file"):
        Keyring.open(fifo)
    with pytest.raises(ConfigError, match="does not exist"):
        Keyring.open(tmp_path / "missing" / "keys.json")


def test_a_dangling_link_is_refused(tmp_path: Path, path: Path) -> None:
    path.symlink_to(tmp_path / "nowhere")
    with pytest.raises(ConfigError):
        Keyring.open(path)


def write(path: Path, content: bytes) -> None:
    path.touch(0o600)
    path.write_bytes(content)


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"\xff", b'{"format": "other"}', b"-----BEGIN PRIVATE KEY-----", b"[" * 100_000]
)
def test_a_foreign_file_is_refused_and_kept(path: Path, content: bytes) -> None:
    write(path, content)
    with pytest.raises(ConfigError, match="not a Surehand key file"):
        Keyring.open(path)
    assert path.read_bytes() == content


def broken(content: dict[str, Any]) -> list[dict[str, Any]]:
    def with_(**fields: Any) -> dict[str, Any]:
        return copy.deepcopy(content) | fields

    index = content["index"]
    return [
        with_(sealing=[]),
        with_(sealing=None),
        with_(index=None),
        with_(signing={}),
        with_(index={"id": index["id"], "key": index["key"][:-2]}),
        with_(index={"id": index["id"], "key": "zz" * 32}),
        with_(index={"id": content["signing"]["id"], "key": index["key"]}),
        with_(index={"id": index["id"], "key": index["key"][::-1]}),
        {name: value for name, value in content.items() if name != "signing"},
    ]


def test_a_damaged_file_is_refused_and_quoted_nowhere(path: Path) -> None:
    Keyring.open(path)
    content = json.loads(path.read_text("utf-8"))
    for damaged in broken(content):
        path.write_text(json.dumps(damaged), "utf-8")
        with pytest.raises(ConfigError, match="damaged") as caught:
            Keyring.open(path)
        assert content["index"]["key"][:8] not in str(caught.value)
        assert caught.value.__cause__ is None


def test_another_version_of_the_file_is_said(path: Path) -> None:
    Keyring.open(path)
    content = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps(content | {"version": 2}), "utf-8")
    with pytest.raises(ConfigError, match="another version"):
        Keyring.open(path)


def test_a_file_that_cannot_be_written_is_an_error(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full_disk(file: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(ConfigError, match="No space left"):
        Keyring.open(path)
    assert os.listdir(path.parent) == []


# Rotation


@pytest.mark.parametrize("kind", ["file", "ephemeral"])
def test_rotation_keeps_old_values_readable(path: Path, kind: str) -> None:
    ring = Keyring.open(path) if kind == "file" else Keyring.ephemeral()
    before, old, signer = ring.seal(b"old", context=CONTEXT), ring.sealing_key_id, ring.public_key_id
    hashed = ring.keyed_hash("x")
    assert ring.rotate() == ring.sealing_key_id != old
    after = ring.seal(b"new", context=CONTEXT)
    assert before[1:9].hex() == old
    assert after[1:9].hex() == ring.sealing_key_id
    assert ring.unseal(before, context=CONTEXT) == b"old"
    assert ring.unseal(after, context=CONTEXT) == b"new"
    assert (ring.keyed_hash("x"), ring.public_key_id) == (hashed, signer)
    if kind == "file":
        again = Keyring.open(path)
        assert [again.unseal(value, context=CONTEXT) for value in (before, after)] == [b"old", b"new"]
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert os.listdir(path.parent) == [path.name]


def test_another_process_reads_a_rotated_key_when_it_needs_it(path: Path) -> None:
    one, other = Keyring.open(path), Keyring.open(path)
    one.rotate()
    other.rotate()
    sealed = other.seal(b"x", context=CONTEXT)
    assert one.unseal(sealed, context=CONTEXT) == b"x"
    assert one.sealing_key_id == other.sealing_key_id
    assert len(json.loads(path.read_text("utf-8"))["sealing"]) == 3


def test_a_lost_or_exchanged_file_is_said(path: Path) -> None:
    ring = Keyring.open(path)
    foreign = Keyring.ephemeral().seal(b"x", context=CONTEXT)
    with pytest.raises(UnsealError, match="is not in the keyring"):
        ring.unseal(foreign, context=CONTEXT)
    path.unlink()
    with pytest.raises(ConfigError, match="is gone"):
        ring.rotate()
    with pytest.raises(UnsealError, match="is gone"):
        ring.unseal(foreign, context=CONTEXT)
    Keyring.open(path)
    with pytest.raises(ConfigError, match="other keys"):
        ring.rotate()
    with pytest.raises(UnsealError, match="other keys"):
        ring.unseal(foreign, context=CONTEXT)


# The object


def test_a_keyring_shows_and_gives_nothing_away(path: Path) -> None:
    ring = Keyring.open(path)
    content = json.loads(path.read_text("utf-8"))
    keys = keyfile.read(path)
    shown = f"{ring!r} {ring} {keys!r} {keys}"
    for entry in (content["index"], content["signing"], *content["sealing"]):
        assert entry["key"] not in shown
        assert repr(bytes.fromhex(entry["key"])) not in shown
    for take in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="cannot be pickled"):
            take(ring)


def test_importing_the_room_does_not_load_cryptography() -> None:
    code = "import surehand.secrets, surehand.audit, sys; sys.exit('cryptography' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_missing_file_is_only_made_where_it_may_be(tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    with pytest.raises(ConfigError, match=rf"made with other keys; restore {re.escape(str(path))}"):
        Keyring.open(path, create=False)
    assert not path.exists()
    made = Keyring.open(path)
    again = Keyring.open(path, create=False)
    assert (again.index_key_id, again.public_key_id) == (made.index_key_id, made.public_key_id)
    other = Keyring.open(tmp_path / "other.json")
    assert other.index_key_id != made.index_key_id
    assert other.public_key_id != made.public_key_id
