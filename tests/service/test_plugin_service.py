"""PluginService, and that what it promises is what there is."""

import re
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import grpc
import pytest

from mooring.app.options import DecisionOptions
from mooring.framework.points import POINTS as FRAMEWORK_POINTS
from mooring.service.backend import Backend, Limits
from mooring.service.plugins import CONTRACT_REVISION, IMPLEMENTED, POINTS
from mooring.testing.builders import make_node
from mooring_client.v1 import cluster_service_pb2
from mooring_client.v1 import plugin_service_pb2 as pb
from mooring_client.v1 import scheduling_service_pb2 as scheduling_pb
from tests.missing_plugins import add_missing_plugin
from tests.service.backends import WAYS, Direct, configuration, direct, profile, world
from tests.service.fakes import scoring

PROTO = Path(__file__).parents[2] / "protos" / "mooring" / "v1" / "plugin_service.proto"


def test_extension_points_are_the_frameworks() -> None:
    assert list(POINTS) == list(FRAMEWORK_POINTS)


@pytest.mark.parametrize("way", WAYS)
def test_what_is_not_among_the_capabilities_is_unimplemented(way: Callable[..., Any]) -> None:
    with world(make_node()) as w, way(w.backend) as stubs:
        offered = set(stubs.plugins.GetCapabilities(pb.GetCapabilitiesRequest()).rpcs)
        for key, descriptor in Direct.DESCRIPTORS.items():
            for method in descriptor.methods:
                stub = getattr(getattr(stubs, key), method.name)
                request = getattr(_module(descriptor), method.input_type.name)()
                name = f"{descriptor.full_name}/{method.name}"
                assert (name in offered) == (_code(stub, request) is not grpc.StatusCode.UNIMPLEMENTED), name
    assert offered == set(IMPLEMENTED)


ALWAYS = {pb.CONTRACT_CLASS_CORE, pb.CONTRACT_CLASS_COMMIT, pb.CONTRACT_CLASS_FUTURES}
JOURNAL, GROUPS, PUSH = pb.CONTRACT_CLASS_JOURNAL, pb.CONTRACT_CLASS_GROUPS, pb.CONTRACT_CLASS_PUSH


@pytest.mark.parametrize(
    ("options", "more"),
    [
        pytest.param({}, {JOURNAL}, id="plain"),
        pytest.param({"remembering": DecisionOptions(journal=0)}, set(), id="no journal"),
        pytest.param({"push": True}, {JOURNAL, PUSH}, id="push"),
        pytest.param({"gates": {"GenericWorkload": True}, "version": "1.37"}, {JOURNAL, GROUPS}, id="groups"),
    ],
)
def test_a_server_says_which_parts_of_the_contract_it_offers(options: dict[str, Any], more: set[int]) -> None:
    with world(make_node(), **options) as w, direct(w.backend) as stubs:
        answer = stubs.plugins.GetCapabilities(pb.GetCapabilitiesRequest())
    assert set(answer.contract_classes) == ALWAYS | more
    assert answer.contract_revision == CONTRACT_REVISION >= 1


def test_no_call_is_in_two_parts_of_the_contract() -> None:
    """The comments of ContractClass are the table; what they don't name is core."""
    text = PROTO.read_text()
    enum = text[text.index("CONTRACT_CLASS_CORE") : text.index("CONTRACT_CLASS_PUSH")]
    comments = re.split(r"CONTRACT_CLASS_\w+ = \d+;", enum)[1:]
    classes: dict[str, list[str]] = {comment: [] for comment in comments}
    for rpc in IMPLEMENTED:
        service, name = rpc.rpartition(".")[2].split("/")
        named = [each for each in comments if re.search(rf"\b({service}|{name})\b(?! with)", each)]
        assert len(named) <= 1, rpc
        for each in named:
            classes[each].append(name)
    assert all(classes.values())


def test_answers_say_which_process_gave_them() -> None:
    with world(make_node()) as w, direct(replace(w.backend, server_id="a1")) as stubs:
        answer = stubs.cluster.GetClusterInfo(cluster_service_pb2.GetClusterInfoRequest())
    assert answer.provenance.server_id == "a1"
    (made,) = (each.default_factory for each in fields(Backend) if each.name == "server_id")
    assert callable(made)
    assert made() != made() != ""


def _module(descriptor: Any) -> Any:
    from mooring_client.v1 import cluster_service_pb2, decision_service_pb2, simulation_service_pb2

    modules = {
        "SchedulingService": scheduling_pb,
        "ClusterService": cluster_service_pb2,
        "SimulationService": simulation_service_pb2,
        "DecisionService": decision_service_pb2,
    }
    return modules.get(descriptor.name, pb)


def _code(stub: Callable[..., Any], request: Any) -> grpc.StatusCode:
    try:
        stub(request)
    except grpc.RpcError as error:
        code: grpc.StatusCode = error.code()
        return code
    return grpc.StatusCode.OK


def test_capabilities_tell_the_limits() -> None:
    limits = Limits(max_message_bytes=1, max_selected_nodes=2, max_batch_pods=3, max_concurrent_calls=4)
    with world(make_node(), limits=limits) as w, direct(w.backend) as stubs:
        answer = stubs.plugins.GetCapabilities(pb.GetCapabilitiesRequest())
    told = answer.limits
    assert (told.max_message_bytes, told.max_selected_nodes) == (1, 2)
    assert (told.max_batch_pods, told.max_concurrent_calls) == (3, 4)
    assert list(answer.commit_modes) == scheduling_pb.CommitMode.values()[1:]
    assert len(answer.node_forms) == 3
    assert len(answer.encodings) == 2
    assert "Pod" in answer.object_kinds


@pytest.mark.parametrize("way", WAYS)
def test_plugins_with_their_points_and_profiles(
    way: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = add_missing_plugin(monkeypatch)
    mine = scoring("Mine", lambda _: 1)
    with world(make_node(), plugins=[mine]) as w, way(w.backend) as stubs:
        plugins = {
            plugin.name: plugin for plugin in stubs.plugins.ListPlugins(pb.ListPluginsRequest()).plugins
        }
    assert list(plugins) == sorted(plugins)
    assert list(plugins["Mine"].profiles) == ["default-scheduler"]
    assert list(plugins["Mine"].extension_points) == [pb.EXTENSION_POINT_SCORE]
    assert plugins["Mine"].state == pb.PLUGIN_STATE_AVAILABLE
    assert list(plugins["NodeName"].profiles) == []
    assert plugins["NodeName"].source == "in-tree"
    assert plugins[missing].state == pb.PLUGIN_STATE_UNSUPPORTED
    fit = [pb.EXTENSION_POINT_PRE_FILTER, pb.EXTENSION_POINT_FILTER]
    assert list(plugins["NodeResourcesFit"].extension_points)[:2] == fit


def test_profiles_in_the_order_of_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    missing = add_missing_plugin(monkeypatch)
    document = configuration(
        profile(("NodeResourcesFit", 5), missing, name="z"), profile("NodeName", name="a")
    )
    with world(make_node(), document=document) as w, direct(w.backend) as stubs:
        answer = stubs.plugins.ListProfiles(pb.ListProfilesRequest())
    assert [one.name for one in answer.profiles] == ["z", "a"]
    first, second = answer.profiles
    assert first.weight_sum == 5
    assert list(first.unsupported_plugins) == [missing]
    by_point = {point.extension_point: point.plugins for point in first.extension_points}
    assert [(one.name, one.weight) for one in by_point[pb.EXTENSION_POINT_SCORE]] == [("NodeResourcesFit", 5)]
    assert [(one.name, one.weight) for one in by_point[pb.EXTENSION_POINT_BIND]] == [("DefaultBinder", 0)]
    assert pb.EXTENSION_POINT_SCORE not in {point.extension_point for point in second.extension_points}
    assert answer.configuration_hash == w.backend.engine.profiles.configuration
