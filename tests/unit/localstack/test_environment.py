from __future__ import annotations

import pytest

from localstack.environment import UnsafeTarget, for_tools, require_local_account, require_loopback, scrubbed

DANGEROUS = {
    "AWS_PROFILE": "production",
    "AWS_ACCESS_KEY_ID": "AKIAREAL",
    "AWS_SECRET_ACCESS_KEY": "real",
    "AWS_SESSION_TOKEN": "real",
    "AWS_ENDPOINT_URL": "https://dynamodb.eu-central-1.amazonaws.com",
    "AWS_ENDPOINT_URL_DYNAMODB": "https://dynamodb.eu-central-1.amazonaws.com",
    "AWS_CONFIG_FILE": "/home/me/.aws/config",
    "AWS_SHARED_CREDENTIALS_FILE": "/home/me/.aws/credentials",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "/v2/credentials/x",
    "AWS_WEB_IDENTITY_TOKEN_FILE": "/var/run/secrets/token",
    "AWS_REGION": "eu-central-1",
    "CDK_DEFAULT_ACCOUNT": "123456789012",
    "CDK_DEPLOY_ACCOUNT": "123456789012",
    "PYTHONPATH": "/elsewhere",
    "PYTHONHOME": "/elsewhere",
    "HTTP_PROXY": "http://proxy:3128",
    "https_proxy": "http://proxy:3128",
    "ALL_PROXY": "socks5://proxy",
    "CARILLON_JOBS_TABLE": "jobs-of-production",
    "BOTO_CONFIG": "/home/me/.boto",
}
LOCAL = "http://127.0.0.1:4566"


@pytest.mark.parametrize("build", [scrubbed, for_tools])
def test_nothing_that_leads_to_a_real_account_is_inherited(build: type) -> None:
    child = build({**DANGEROUS, "PATH": "/usr/bin", "HOME": "/home/me"}, endpoint=LOCAL)

    assert not [name for name, value in DANGEROUS.items() if child.get(name) == value]
    assert child["PATH"] == "/usr/bin"


@pytest.mark.parametrize("build", [scrubbed, for_tools])
def test_a_child_has_only_harmless_settings_of_aws(build: type) -> None:
    child = build(DANGEROUS, endpoint=LOCAL)

    assert {name: value for name, value in child.items() if name.startswith("AWS_")} == {
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_REGION": "us-east-1",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_CONFIG_FILE": "/dev/null",
        "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_ENDPOINT_URL": LOCAL,
    }
    assert child["PYTHONTZPATH"] == ""


def test_without_an_endpoint_none_is_inherited() -> None:
    assert "AWS_ENDPOINT_URL" not in scrubbed(DANGEROUS)


def test_tools_keep_the_settings_of_the_package_index_and_tasks_do_not() -> None:
    environ = {"UV_DEFAULT_INDEX": "http://mirror/simple", "XDG_CACHE_HOME": "/cache"}

    assert environ.items() <= for_tools(environ).items()
    assert not environ.keys() & scrubbed(environ).keys()


@pytest.mark.parametrize(
    "endpoint", ["http://127.0.0.1:4566", "http://127.9.9.9:1", "https://localhost:4566", "http://[::1]:4566"]
)
def test_an_endpoint_of_this_machine_is_accepted(endpoint: str) -> None:
    require_loopback(endpoint)


@pytest.mark.parametrize(
    "endpoint",
    [
        "https://dynamodb.us-east-1.amazonaws.com",
        "http://10.0.0.7:4566",
        "http://0.0.0.0:4566",
        "http://127.0.0.1@example.com:4566",
        "http://127.0.0.1.example.com",
        "http://localhost.example.com",
        "ftp://127.0.0.1",
        "127.0.0.1:4566",
        "",
    ],
)
def test_an_endpoint_elsewhere_is_refused(endpoint: str) -> None:
    with pytest.raises(UnsafeTarget):
        require_loopback(endpoint)
    with pytest.raises(UnsafeTarget):
        scrubbed({}, endpoint=endpoint)


def test_only_the_account_of_the_emulator_is_accepted() -> None:
    require_local_account("000000000000")

    with pytest.raises(UnsafeTarget, match="123456789012"):
        require_local_account("123456789012")
