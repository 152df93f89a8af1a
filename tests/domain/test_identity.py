import base64
import hashlib

import pytest

from app.domain.errors import InvalidInput
from app.domain.identity import KEY_PREFIX_LENGTH, check_name, hash_key, new_key


@pytest.mark.parametrize("name", ["a", "acme", "Ann.B-2_x@example.org", "0", "x" * 128])
def test_a_name_of_letters_digits_and_a_few_signs_is_taken(name: str) -> None:
    assert check_name(name, "user_id") == name


@pytest.mark.parametrize(
    "name", ["", "_system", ".a", "-a", "@a", "a b", "a/b", "a..b", "é", "x" * 129, "a\n", "a\x00", "ａ"]
)
def test_another_name_is_refused_by_its_field(name: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        check_name(name, "user_id")
    assert refused.value.details == {"field": "user_id"}


def test_a_key_names_its_account_and_user_and_holds_256_random_bits() -> None:
    key = new_key("acme", "ann")
    account, user, secret = (base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)) for part in key.secret.split("."))
    assert (account, user, len(secret)) == (b"acme", b"ann", 32)
    assert key.sha256 == hash_key(key.secret) == hashlib.sha256(key.secret.encode()).digest()
    assert key.prefix == key.secret.rsplit(".", 1)[1][:KEY_PREFIX_LENGTH]
    assert new_key("acme", "ann").secret != key.secret


def test_any_text_can_be_looked_up_as_a_key() -> None:
    assert len(hash_key("\ud800")) == 32
