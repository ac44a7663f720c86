"""`Secret` as a type of arguments and results."""

import pydantic
import pytest

from surehand.secrets import Secret


class Login(pydantic.BaseModel, strict=True):
    user: str
    password: Secret


def test_a_string_becomes_a_secret() -> None:
    login = Login.model_validate({"user": "a", "password": "hunter2"})
    assert login.password == Secret("hunter2")
    assert Login.model_validate_json('{"user": "a", "password": "hunter2"}') == login
    assert Login(user="a", password=login.password).password is login.password
    assert "hunter2" not in repr(login) + str(login.model_dump()) + login.model_dump_json()


def test_it_stays_a_secret_in_python_and_becomes_a_mark_in_json() -> None:
    login = Login(user="a", password=Secret("hunter2"))
    assert login.model_dump()["password"] is login.password
    assert login.model_dump(mode="json") == {"user": "a", "password": "[secret]"}


def test_a_mark_is_no_value() -> None:
    login = Login(user="a", password=Secret("hunter2"))
    with pytest.raises(pydantic.ValidationError):
        Login.model_validate_json(login.model_dump_json())
    with pytest.raises(pydantic.ValidationError):
        Login.model_validate({"user": "a", "password": 5})


def test_the_schema_says_write_only() -> None:
    for mode in ("validation", "serialization"):
        schema = Login.model_json_schema(mode=mode)["properties"]["password"]
        assert schema == {"type": "string", "format": "password", "writeOnly": True, "title": "Password"}
