"""Docstrings of three styles: what is for the tool, what for its arguments."""

import docstring_parser
import pytest

from surehand.spec.docstring import split_docstring

GOOGLE = """Refunds an order.

    Only paid orders.

    Args:
        order: The order,
            as printed on the bill.
        cents (int): How much.
        tenant_id: Never shown.

    Returns:
        The refund's id.

    Raises:
        ValueError: Not paid.
    """
NUMPY = """Refunds an order.

    Only paid orders.

    Parameters
    ----------
    order : str
        The order,
        as printed on the bill.
    cents
        How much.

    Returns
    -------
    str
        The refund's id.
    """
SPHINX = """Refunds an order.

    Only paid orders.

    :param order: The order,
        as printed on the bill.
    :param int cents: How much.
    :type order: str
    :returns: The refund's id.
    """


@pytest.mark.parametrize("text", [GOOGLE, NUMPY, SPHINX], ids=["google", "numpy", "sphinx"])
def test_styles(text: str) -> None:
    description, arguments = split_docstring(text)
    assert description.startswith("Refunds an order.\n\nOnly paid orders.\n\n")
    assert "The refund's id." in description
    for hidden in ("bill", "How much", "Never shown", "tenant_id", "cents", "Args", "Parameters", "----------"):
        assert hidden not in description.replace("Returns\n-------", "")
    assert arguments["order"] == "The order, as printed on the bill."
    assert arguments["cents"] == "How much."


def test_arguments_last() -> None:
    assert split_docstring("Does.\n\nArgs:\n    a: A.\n\n    b: B.\n") == ("Does.", {"a": "A.", "b": "B."})


@pytest.mark.parametrize(
    "text",
    ["Only a line.", "Two\nlines.", "A list:\n\n- one\n- two\n\nArgs are not described.", "Example: 1 - 2\n----"],
)
def test_without_arguments(text: str) -> None:
    assert split_docstring(text) == (text, {})


@pytest.mark.parametrize("text", [None, "", "  \n "])
def test_nothing(text: str | None) -> None:
    assert split_docstring(text) == ("", {})


def test_what_no_parser_reads_is_a_description(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(text: str) -> None:
        raise docstring_parser.ParseError(text)

    monkeypatch.setattr(docstring_parser, "parse", fail)
    assert split_docstring("Args:\n  odd") == ("Args:\nodd", {})
