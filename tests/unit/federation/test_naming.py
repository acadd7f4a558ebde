"""Names of federated objects."""

from stretto.federation.objects.naming import LONGEST, federated_name


def test_a_plain_name_gets_the_name_of_its_type() -> None:
    assert federated_name("web", "deployments.apps") == "web-deployments.apps"


def test_letters_that_a_name_cannot_contain_are_replaced_and_hashed() -> None:
    name = federated_name("p10-demo:Sub:reader", "clusterroles.rbac.authorization.k8s.io")
    expected = "p10-demo.sub.reader-clusterroles.rbac.authorization.k8s.io-1728895303"
    assert name == expected


def test_two_long_names_differ_after_the_cut() -> None:
    names = {federated_name("a" * 250 + end, "configmaps") for end in "xy"}
    assert {len(name) for name in names} == {LONGEST}
    assert len(names) == 2
