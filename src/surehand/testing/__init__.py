"""For the tests of whoever uses Surehand: contract suites that any store must pass."""
