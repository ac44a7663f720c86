"""Real servers on this machine: one that takes webhooks, one that takes mail."""

from __future__ import annotations

import asyncio
import datetime
import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@dataclass
class Posted:
    """One request."""

    target: str
    headers: dict[str, str]
    body: bytes


@dataclass
class HookServer:
    """Takes what is posted; answers with the next of `answers`, then with 204."""

    port: int = 0
    posted: list[Posted] = field(default_factory=list[Posted])
    answers: list[bytes] = field(default_factory=list[bytes])
    hangs: bool = False

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            _, target, _ = (await reader.readline()).decode().split()
            headers: dict[str, str] = {}
            while line := (await reader.readline()).decode().strip():
                name, _, value = line.partition(": ")
                headers[name.lower()] = value
            body = await reader.readexactly(int(headers["content-length"]))
            self.posted.append(Posted(target, headers, body))
            if self.hangs:
                await reader.read()
                return
            writer.write(self.answers.pop(0) if self.answers else b"HTTP/1.1 204 No Content\r\n\r\n")
            await writer.drain()
        finally:
            writer.close()


@asynccontextmanager
async def hook_server(tls: ssl.SSLContext | None = None) -> AsyncGenerator[HookServer]:
    hooks = HookServer()
    server = await asyncio.start_server(hooks.serve, "127.0.0.1", 0, ssl=tls)
    hooks.port = server.sockets[0].getsockname()[1]
    try:
        yield hooks
    finally:
        server.close()


@dataclass
class MailServer:
    """A small SMTP server. With `tls` it offers STARTTLS, and takes mail only after it."""

    tls: ssl.SSLContext | None
    port: int = 0
    letters: list[str] = field(default_factory=list[str])
    commands: list[str] = field(default_factory=list[str])
    refuse: bytes = b""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async def say(text: bytes) -> None:
            writer.write(text + b"\r\n")
            await writer.drain()

        try:
            await say(b"220 mail.test")
            while line := (await reader.readline()).decode().strip():
                word = line.split()[0].upper()
                self.commands.append(line if word == "AUTH" else word)
                if word == "EHLO":
                    offered = b"STARTTLS" if self.tls and not writer.get_extra_info("sslcontext") else b"AUTH PLAIN"
                    await say(b"250-mail.test\r\n250 " + offered)
                elif word == "STARTTLS" and self.tls:
                    await say(b"220 go on")
                    await writer.start_tls(self.tls)
                elif word == "AUTH":
                    await say(b"235 welcome")
                elif word == "RCPT" and self.refuse:
                    await say(self.refuse)
                elif word == "DATA":
                    await say(b"354 go on")
                    self.letters.append((await reader.readuntil(b"\r\n.\r\n")).decode())
                    await say(b"250 taken")
                elif word == "QUIT":
                    await say(b"221 bye")
                    return
                else:
                    await say(b"250 ok")
        except (ConnectionError, asyncio.IncompleteReadError, ssl.SSLError):
            return
        finally:
            writer.close()


@asynccontextmanager
async def mail_server(tls: ssl.SSLContext | None = None) -> AsyncGenerator[MailServer]:
    mail = MailServer(tls)
    server = await asyncio.start_server(mail.serve, "127.0.0.1", 0)
    mail.port = server.sockets[0].getsockname()[1]
    try:
        yield mail
    finally:
        server.close()


def certificate(folder: Path, host: str) -> tuple[ssl.SSLContext, Path]:
    """A server's side of TLS for `host`, and the file of the authority that vouches for it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    file, key_file = folder / f"{host}.pem", folder / f"{host}.key"
    file.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    key_file.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(file, key_file)
    return context, file
