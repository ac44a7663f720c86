"""The contracts are tests, so their asserts explain themselves like those of tests."""

import pytest

pytest.register_assert_rewrite(
    "surehand.testing.store_approvals_contract",
    "surehand.testing.store_contract",
    "surehand.testing.store_control_contract",
    "surehand.testing.store_grant_contract",
    "surehand.testing.store_ledger_contract",
    "surehand.testing.store_quota_contract",
    "surehand.testing.store_run_contract",
    "surehand.testing.store_time_contract",
)
