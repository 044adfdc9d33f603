"""A Dask cluster of several hosts, each a network namespace that sees nothing of the campaign's files; and TLS."""

from __future__ import annotations

import os
import shutil
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("distributed", reason="Dask's scheduler is not installed: pip install 'relaxfuzz[dask]'")

from dask_cluster import Cluster
from test_dask_campaign import PASSES, examples, finish, start, substance, wait_for

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3000)]
HERE = Path(__file__).parent


class Hosts:
    """Namespaces with a cable each to this machine: 10.87.N.1 here, 10.87.N.2 there."""

    def __init__(self) -> None:
        self.tag = uuid.uuid4().hex[:6]
        self.names: list[str] = []

    def add(self) -> str:
        number, name = len(self.names), f"rf{self.tag}{len(self.names)}"
        ip("netns", "add", name)
        self.names.append(name)
        ip("link", "add", f"{name}a", "type", "veth", "peer", "name", f"{name}b", "netns", name)
        ip("addr", "add", f"10.87.{number}.1/24", "dev", f"{name}a")
        ip("link", "set", f"{name}a", "up")
        for command in (
            ("addr", "add", f"10.87.{number}.2/24", "dev", f"{name}b"),
            ("link", "set", f"{name}b", "up"),
            ("link", "set", "lo", "up"),
            ("route", "add", "default", "via", f"10.87.{number}.1"),
        ):
            ip("-n", name, *command)
        return name

    def unplug(self, name: str) -> None:
        ip("link", "set", f"{name}a", "down")

    def remove(self) -> None:
        for name in self.names:
            ip("link", "del", f"{name}a")
            ip("netns", "del", name)


def ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)


@pytest.fixture
def hosts() -> Iterator[Hosts]:
    if os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.skip("network namespaces need root and the command ip")
    hosts = Hosts()
    try:
        hosts.add()
    except subprocess.CalledProcessError as error:
        hosts.names.clear()
        pytest.skip(f"no network namespace can be made here: {error.stderr.decode().strip()}")
    try:
        yield hosts
    finally:
        hosts.remove()


def test_workers_on_other_hosts_need_nothing_of_the_campaign_and_one_may_be_unplugged(
    tmp_path: Path, hosts: Hosts
) -> None:
    home, folder = tmp_path / "home", tmp_path / "dask"
    home.mkdir()
    folder.mkdir()
    shutil.copy(HERE / "user_passes.py", home / "mine.py")
    arguments = (*PASSES, "--pass", f"{home}/mine.py:refuses_second_function", "--max-examples", 640)
    finish(start(home / "one", *arguments, "--workers", 1))
    hosts.add()
    with Cluster(folder, host="10.87.0.1", DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL="5s") as cluster:
        for name in hosts.names:
            hidden = f"mount -t tmpfs none {home} && test ! -e {home}/mine.py && exec "
            cluster.add_worker(("ip", "netns", "exec", name, "unshare", "-m", "sh", "-c", f'{hidden}"$@"', "sh"))
        process = start(home / "out", *arguments, "--dask", cluster.address)
        wait_for(lambda: examples(home / "out") >= 192, process)
        hosts.unplug(hosts.names[1])
        errors = finish(process)
    assert "Dask: 2 workers" in errors
    assert substance(home / "out") == substance(home / "one")
    scripts = [path.read_text() for path in (home / "out" / "repros").glob("*.py")]
    assert any(f"{home}/mine.py" in text for text in scripts)
    assert not any("relaxfuzz-dask-" in text for text in scripts)


def test_tls_is_a_matter_of_dasks_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not there to make a certificate")
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=relaxfuzz",
         "-keyout", str(key), "-out", str(certificate)],
        check=True, capture_output=True,
    )  # fmt: skip
    settings = {"DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION": "true"}
    settings["DASK_DISTRIBUTED__COMM__TLS__CA_FILE"] = str(certificate)
    for role in ("SCHEDULER", "WORKER", "CLIENT"):
        settings[f"DASK_DISTRIBUTED__COMM__TLS__{role}__CERT"] = str(certificate)
        settings[f"DASK_DISTRIBUTED__COMM__TLS__{role}__KEY"] = str(key)
    arguments = ("--passes", "Normalize", "--oracles", "crash,mutation", "--max-examples", 64)
    (tmp_path / "dask").mkdir()
    with Cluster(tmp_path / "dask", scheme="tls", **settings) as cluster:
        cluster.add_worker()
        refused = start(tmp_path / "out", *arguments, "--dask", cluster.address)
        _, errors = refused.communicate(timeout=600)
        assert (refused.returncode, errors.count("\n")) == (2, 1), errors
        assert "no Dask scheduler answers at 'tls://" in errors
        for name, value in settings.items():
            monkeypatch.setenv(name, value)
        finish(start(tmp_path / "out", *arguments, "--dask", cluster.address))
    assert examples(tmp_path / "out") == 64
