"""Entry point of the node agent: `python -P -m podium.sweep.node_agent.main FILE`, started by the node's guardian.

Exits with `LEAVE` when the head asks the node to leave, and with `REFUSED` when it does not accept its token.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
from pathlib import Path

import httpx2

from podium.ensemble.host.worker_launcher import TemplateWorkerLauncher
from podium.ensemble.node_members.member_service import MemberService
from podium.ensemble.node_members.model_file_cache import MemberFiles
from podium.ensemble.worker.control_messages import TlsListening
from podium.sweep.file_store.head_and_object_store import DirectFileStore, NodeFileStore
from podium.sweep.file_store.https_store import TIMEOUT_S, HeadFileStore
from podium.sweep.file_store.object_store import ObjectFileStore
from podium.sweep.file_store.object_store_url import ArtifactUrl, load_credentials
from podium.sweep.node_agent.file_request_server import AgentServer, NodeAgent
from podium.sweep.node_agent.node_status_reporter import NodeStatusReporter
from podium.sweep.runtime import cluster_certificates
from podium.sweep.runtime.certificate_pin import ssl_context
from podium.sweep.runtime.joined_node_settings import NodeSettings
from podium.sweep.runtime.process_title import name_process

log = logging.getLogger("podium.node_agent")


def main() -> None:
    """Serve the slots of this node until SIGTERM, or until the head asks it to leave."""
    name_process("podium-agent")
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    logging.getLogger("httpx2").setLevel(logging.WARNING)
    os.umask(0o077)
    settings = NodeSettings.load(Path(sys.argv[1]))
    with httpx2.Client(
        base_url=settings.url,
        headers={"authorization": f"Bearer {settings.token}"},
        verify=ssl_context(settings.certificate),
        limits=httpx2.Limits(max_connections=64),
        timeout=TIMEOUT_S,
        trust_env=False,
    ) as client:
        head = HeadFileStore(client)
        store = _direct_store(head, settings) or head
        agent = NodeAgent(head, settings.data, lambda: reports.clock_offset_s, store=store)
        members = _serve_members(settings, store, agent)
        reports = NodeStatusReporter(head, settings, lambda: agent.waiting, lambda: agent.left, members)
        with AgentServer(settings.runtime.agent_socket, agent) as server:
            threading.Thread(target=server.serve_forever, name="slots", daemon=True).start()
            threading.Thread(target=agent.follow_leftovers, name="leftovers", daemon=True).start()
            status = reports.follow()
            server.shutdown()
            agent.close()
    sys.exit(status)


def _direct_store(head: HeadFileStore, settings: NodeSettings) -> DirectFileStore | None:
    """The object store of the service, with the credentials of this node; None without one."""
    if not settings.artifact_url:
        return None
    if settings.artifact_credentials:
        load_credentials(Path(settings.artifact_credentials))
    return DirectFileStore(head, ObjectFileStore.open(ArtifactUrl.parse(settings.artifact_url)))


def _serve_members(settings: NodeSettings, store: NodeFileStore, agent: NodeAgent) -> tuple[int, str]:
    """Start members of ensembles for the head; returns the port, and the fingerprint of its certificate.

    Returns 0 and "" on a node without members: one of an existing Ray cluster, since a device that was released there
    is used by others.
    """
    if settings.member_ports is None:
        return 0, ""
    data = settings.data
    try:
        cluster_certificates.ensure(data.node_certificate, data.node_key, settings.address)
        listening = TlsListening(
            settings.address, *settings.member_ports, str(data.node_certificate), str(data.node_key),
            settings.certificate,
        )  # fmt: skip
        launcher = TemplateWorkerLauncher(settings.runtime, data.logs / "members.log")
        service = MemberService(listening, launcher, MemberFiles(store.get, data, agent.fetched.fetch_code).fetch)
    except (OSError, ValueError) as error:  # the trials of this node need no members
        log.error("no member of an ensemble can run on this node: %s", error)
        return 0, ""
    service.start()
    return service.port, service.fingerprint


if __name__ == "__main__":
    main()
