"""A player's signature: by a private SSH key in a file, or by `ssh-keygen` where an agent or a device holds the key.

Implements protocol.md, "Identity" (SSH signatures): what `ssh-keygen -Y sign -n pbem@SERVER` does.
"""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from pbem.durable import make_folder, replace, write
from pbem.identity import BadKey, ssh
from pbem.identity.security_keys import passkey_host
from pbem.identity.verdict import BadSignature
from pbem.phrase import Phrase
from pbem.player import PlayerTrouble

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pbem.identity.ssh import PrivateKey


_TRIES = 3
_SECONDS = 120.0  # that a person may take over a device, or a passphrase


TOUCH = Phrase("Touch your security key now: then it signs.")


class CannotSign(PlayerTrouble):
    """The key cannot be used; the text says why, and what the player can do."""


class SigningKey(msgspec.Struct):
    """An SSH key: its public line, and how it signs. The private half is opened when something is signed."""

    path: Path
    public: str
    _passphrase: Callable[[str], str]
    _touch: Callable[[], None]
    _private: PrivateKey | None = None

    @property
    def fingerprint(self) -> str:
        """The key's fingerprint, as `ssh-keygen -l` prints it."""
        return ssh.parse(self.public).fingerprint

    @property
    def is_passkey(self) -> bool:
        """True if a browser must be asked to sign."""
        return bool(passkey_host(ssh.parse(self.public).public))

    def unlock(self) -> None:
        """Open the private half, if it is in the file: whoever signs later asks for no passphrase."""
        if self.path.suffix != ".pub":
            self._private = self._private or self._opened()

    def sign(self, text: bytes, namespace: str) -> str:
        """The signature of a text, in armour; raises `CannotSign`."""
        self.unlock()
        if self._private is not None:
            return ssh.sign(self._private, text, namespace)
        # ED25519-SK and ECDSA-SK, at the end of its line. A key in an agent says nothing to this terminal itself.
        if b"-SK)" in self._keygen("-l").stdout:
            self._touch()
        done = self._keygen("-Y", "sign", "-n", namespace, given=text)
        if done.returncode:
            said = done.stderr.decode("utf-8", "replace").strip().splitlines()
            raise CannotSign(
                "ssh-keygen does not sign with {path}: {what}",
                path=self.path,
                what=said[-1] if said else Phrase("no reason"),
            )
        armor = done.stdout.decode("ascii")
        try:
            ssh.read_signature(armor)
        except BadSignature as error:
            raise CannotSign(
                "No server takes what {path} signs. {reason}", path=self.path, reason=error.reason
            ) from error
        return armor

    def _keygen(self, *words: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        whole = ["ssh-keygen", *words, "-f", str(self.path)]
        try:
            return subprocess.run(whole, input=given, capture_output=True, timeout=_SECONDS, check=False)  # noqa: S603 - fixed commands
        except subprocess.TimeoutExpired as error:
            waited = Phrase("the security key was not touched, or the agent does not answer")
            raise CannotSign("Nothing was signed with {path}: {waited}.", path=self.path, waited=waited) from error
        except OSError as error:
            raise CannotSign("ssh-keygen cannot be run: {name}", name=type(error).__name__) from error

    def _opened(self) -> PrivateKey | None:
        """The private key of the file; None if only ssh-keygen can use it."""
        try:
            data = self.path.read_bytes()
            return ssh.load(data)
        except OSError as error:
            raise CannotSign(
                "{path}: {strerror}. --key names another key.", path=self.path, strerror=error.strerror
            ) from error
        except TypeError:
            prompt = f"Passphrase of {self.path}"
        except ssh.UnusableKey:
            return None
        except ValueError as error:
            raise CannotSign(f"{self.path}: {error}") from error
        for _ in range(_TRIES):
            try:
                return ssh.load(data, self._passphrase(prompt))
            except ssh.UnusableKey:
                return None
            except ValueError:
                prompt = f"Wrong passphrase. Passphrase of {self.path}"
        raise CannotSign("The key stays locked.")


def read(path: Path, passphrase: Callable[[str], str], touch: Callable[[], None]) -> SigningKey:
    """The key of a file: a private one, or the public one of a key that an agent holds. Raises `CannotSign`.

    `passphrase` asks for one, with the given words; `touch` asks for a touch of the security key that holds the key.
    """
    beside = path if path.suffix == ".pub" else path.with_name(f"{path.name}.pub")
    try:
        there = beside.is_file()
        line = beside.read_text("ascii").strip() if there else ssh.public(ssh.load(path.read_bytes()))
        ssh.parse(line)
    except OSError as error:
        raise CannotSign(
            "{filename}: {strerror}. --key names another, --new-key makes one.",
            filename=error.filename,
            strerror=error.strerror,
        ) from error
    except TypeError as error:
        raise CannotSign(
            "{path} is locked, and {beside} is not there: ssh-keygen -y -f {path} > {beside}",
            path=path,
            beside=beside,
        ) from error
    except (ValueError, BadKey) as error:
        raise CannotSign(f"{path}: {error}") from error
    return SigningKey(path, line, passphrase, touch)


def make(path: Path, comment: str) -> None:
    """Make an Ed25519 key and write both halves, as `ssh-keygen -t ed25519` does; raises `CannotSign`."""
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    private = Ed25519PrivateKey.generate()
    data = private.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption())
    try:
        make_folder(path.parent)
        draft = path.with_name(f"{path.name}.new")
        draft.unlink(missing_ok=True)
        write(draft, data, new=True)
        # All of it, or nothing: half a key would be in the way for ever. And none that is there is replaced.
        try:
            os.link(draft, path)
        finally:
            draft.unlink()
        replace(path.with_name(f"{path.name}.pub"), f"{ssh.public(private)} {comment}\n".encode("ascii"))
    except FileExistsError as error:
        raise CannotSign("{path} is there already: leave --new-key out to use it.", path=path) from error
    except OSError as error:
        raise CannotSign(f"{error.filename or path}: {error.strerror}") from error
