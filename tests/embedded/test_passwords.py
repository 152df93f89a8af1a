"""Generated passwords are kept, and everybody gets the same one."""

from concurrent.futures import ThreadPoolExecutor

from app.embedded.passwords import Passwords


def test_a_password_is_made_once_and_kept(tmp_path):
    made = Passwords(tmp_path / "passwords").ensure("app")
    assert len(made) >= 32
    assert Passwords(tmp_path / "passwords").ensure("app") == made


def test_logins_have_passwords_of_their_own(tmp_path):
    passwords = Passwords(tmp_path)
    assert passwords.ensure("app") != passwords.ensure("owner")


def test_one_that_was_never_made_is_none(tmp_path):
    assert Passwords(tmp_path / "nothing").get("app") is None


def test_all_who_ask_at_the_same_time_get_the_same_one(tmp_path):
    with ThreadPoolExecutor(16) as threads:
        answers = list(threads.map(lambda _: Passwords(tmp_path / "new").ensure("app"), range(64)))
    assert len(set(answers)) == 1
    assert [file.name for file in (tmp_path / "new").iterdir()] == ["app"]
