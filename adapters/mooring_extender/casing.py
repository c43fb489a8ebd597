"""Give every key of a document the spelling that its Go type has.

Go reads JSON keys whatever their case, so a caller may send `nodenames` or `NODENAMES` for `NodeNames`, and
the same inside the pod and its nodes. `fold` rewrites the keys of *structs* to the published field names and
leaves the keys of *maps* (labels, annotations, resource names) alone: those are data.

The schema lists the fields of Kubernetes' extender/v1, core/v1 and meta/v1 that scheduling reads. A field
that is not listed keeps its key and its value as they came.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final


class Struct:
    """The fields of one Go struct: `names` separated by blanks, `nested` for fields that hold structs."""

    def __init__(self, names: str = "", /, **nested: Schema) -> None:
        fields: dict[str, Schema] = dict.fromkeys(names.split())
        fields.update(nested)
        self._by_folded_name: Mapping[str, tuple[str, Schema]] = {
            name.casefold(): (name, schema) for name, schema in fields.items()
        }

    def field(self, key: str) -> tuple[str, Schema]:
        """Return the published spelling of `key` and what its value holds; an unknown key stays as it is."""
        return self._by_folded_name.get(key.casefold(), (key, None))


class MapOf:
    """A Go map whose values are structs: its keys are data, its values are folded."""

    def __init__(self, value: Schema) -> None:
        self.value = value


Schema = Struct | MapOf | None


def fold(value: Any, schema: Schema) -> Any:
    """Return `value`, decoded JSON, with the keys of its structs in their published spelling.

    Args:
        value: what an untyped JSON decoder returns. It is not modified.
        schema: what `value` holds; the elements of a list hold the same. None means nothing to fold.

    Of two keys that fold to one name the later wins, as in Go. Raises RecursionError on absurdly deep lists.
    """
    if schema is None:
        return value
    if isinstance(value, list):
        return [fold(item, schema) for item in value]
    if not isinstance(value, dict):
        return value
    if isinstance(schema, MapOf):
        return {key: fold(item, schema.value) for key, item in value.items()}
    folded: dict[str, Any] = {}
    for key, item in value.items():
        name, nested = schema.field(key)
        folded[name] = fold(item, nested)
    return folded


_METADATA: Final = Struct(
    "name generateName namespace selfLink uid resourceVersion generation creationTimestamp deletionTimestamp"
    " deletionGracePeriodSeconds labels annotations finalizers",
    ownerReferences=Struct("apiVersion kind name uid controller blockOwnerDeletion"),
    managedFields=Struct("manager operation apiVersion time fieldsType fieldsV1 subresource"),
)
_REQUIREMENTS: Final = Struct("key operator values")
_LABEL_SELECTOR: Final = Struct("matchLabels", matchExpressions=_REQUIREMENTS)

_NODE_SELECTOR_TERM: Final = Struct(matchExpressions=_REQUIREMENTS, matchFields=_REQUIREMENTS)
_NODE_AFFINITY: Final = Struct(
    requiredDuringSchedulingIgnoredDuringExecution=Struct(nodeSelectorTerms=_NODE_SELECTOR_TERM),
    preferredDuringSchedulingIgnoredDuringExecution=Struct("weight", preference=_NODE_SELECTOR_TERM),
)
_POD_AFFINITY_TERM: Final = Struct(
    "namespaces topologyKey matchLabelKeys mismatchLabelKeys",
    labelSelector=_LABEL_SELECTOR,
    namespaceSelector=_LABEL_SELECTOR,
)
_POD_AFFINITY: Final = Struct(
    requiredDuringSchedulingIgnoredDuringExecution=_POD_AFFINITY_TERM,
    preferredDuringSchedulingIgnoredDuringExecution=Struct("weight", podAffinityTerm=_POD_AFFINITY_TERM),
)
_AFFINITY: Final = Struct(
    nodeAffinity=_NODE_AFFINITY, podAffinity=_POD_AFFINITY, podAntiAffinity=_POD_AFFINITY
)

_RESOURCES: Final = Struct("limits requests", claims=Struct("name request"))
_CONTAINER: Final = Struct(
    "name image command args workingDir restartPolicy terminationMessagePath terminationMessagePolicy"
    " imagePullPolicy stdin stdinOnce tty envFrom livenessProbe readinessProbe startupProbe lifecycle"
    " securityContext",
    ports=Struct("name hostPort containerPort protocol hostIP"),
    env=Struct("name value valueFrom"),
    resources=_RESOURCES,
    resizePolicy=Struct("resourceName restartPolicy"),
    volumeMounts=Struct("name readOnly recursiveReadOnly mountPath subPath mountPropagation subPathExpr"),
    volumeDevices=Struct("name devicePath"),
)
_CLAIM_TEMPLATE: Final = Struct(
    metadata=_METADATA,
    spec=Struct(
        "accessModes volumeName storageClassName volumeMode volumeAttributesClassName",
        selector=_LABEL_SELECTOR,
        resources=_RESOURCES,
        dataSource=Struct("apiGroup kind name"),
        dataSourceRef=Struct("apiGroup kind name namespace"),
    ),
)
_VOLUME: Final = Struct(
    "name configMap secret downwardAPI projected nfs image hostPath",
    emptyDir=Struct("medium sizeLimit"),
    persistentVolumeClaim=Struct("claimName readOnly"),
    ephemeral=Struct(volumeClaimTemplate=_CLAIM_TEMPLATE),
    csi=Struct("driver readOnly fsType volumeAttributes nodePublishSecretRef"),
    gcePersistentDisk=Struct("pdName fsType partition readOnly"),
    awsElasticBlockStore=Struct("volumeID fsType partition readOnly"),
    azureDisk=Struct("diskName diskURI cachingMode fsType readOnly kind"),
    iscsi=Struct("targetPortal iqn lun iscsiInterface fsType readOnly portals initiatorName secretRef"),
    rbd=Struct("monitors image fsType pool user keyring secretRef readOnly"),
)
_CONDITIONS: Final = Struct(
    "type status reason message lastProbeTime lastHeartbeatTime lastTransitionTime observedGeneration"
)
_CONTAINER_STATUS: Final = Struct(
    "name state lastState ready restartCount image imageID containerID started allocatedResources",
    resources=_RESOURCES,
)

POD: Final = Struct(
    "kind apiVersion",
    metadata=_METADATA,
    spec=Struct(
        "restartPolicy terminationGracePeriodSeconds activeDeadlineSeconds dnsPolicy nodeSelector"
        " serviceAccountName serviceAccount automountServiceAccountToken nodeName hostNetwork hostPID hostIPC"
        " shareProcessNamespace securityContext imagePullSecrets hostname subdomain schedulerName hostAliases"
        " priorityClassName priority dnsConfig readinessGates runtimeClassName enableServiceLinks"
        " preemptionPolicy overhead setHostnameAsFQDN os hostUsers hostnameOverride",
        volumes=_VOLUME,
        initContainers=_CONTAINER,
        containers=_CONTAINER,
        ephemeralContainers=_CONTAINER,
        resources=_RESOURCES,
        affinity=_AFFINITY,
        tolerations=Struct("key operator value effect tolerationSeconds"),
        topologySpreadConstraints=Struct(
            "maxSkew topologyKey whenUnsatisfiable minDomains nodeAffinityPolicy nodeTaintsPolicy"
            " matchLabelKeys",
            labelSelector=_LABEL_SELECTOR,
        ),
        schedulingGates=Struct("name"),
        resourceClaims=Struct("name resourceClaimName resourceClaimTemplateName"),
        workloadRef=Struct("name podGroup podGroupReplicaKey"),
    ),
    status=Struct(
        "phase message reason nominatedNodeName hostIP podIP startTime qosClass resize observedGeneration",
        conditions=_CONDITIONS,
        hostIPs=Struct("ip"),
        podIPs=Struct("ip"),
        resources=_RESOURCES,
        initContainerStatuses=_CONTAINER_STATUS,
        containerStatuses=_CONTAINER_STATUS,
        ephemeralContainerStatuses=_CONTAINER_STATUS,
        resourceClaimStatuses=Struct("name resourceClaimName"),
    ),
)

NODE: Final = Struct(
    "kind apiVersion",
    metadata=_METADATA,
    spec=Struct(
        "podCIDR podCIDRs providerID unschedulable externalID configSource",
        taints=Struct("key value effect timeAdded"),
    ),
    status=Struct(
        "capacity allocatable phase volumesInUse config declaredFeatures",
        conditions=_CONDITIONS,
        addresses=Struct("type address"),
        # Port is the one field of core/v1 that is published with a capital letter.
        daemonEndpoints=Struct(kubeletEndpoint=Struct("Port")),
        nodeInfo=Struct(
            "machineID systemUUID bootID kernelVersion osImage containerRuntimeVersion kubeletVersion"
            " kubeProxyVersion operatingSystem architecture",
            swap=Struct("capacity"),
        ),
        images=Struct("names sizeBytes"),
        volumesAttached=Struct("name devicePath"),
        runtimeHandlers=Struct("name", features=Struct("recursiveReadOnlyMounts userNamespaces")),
        features=Struct("supplementalGroupsPolicy"),
    ),
)
_NODES: Final = Struct(
    "kind apiVersion",
    metadata=Struct("selfLink resourceVersion continue remainingItemCount"),
    items=NODE,
)

EXTENDER_ARGS: Final = Struct("NodeNames", Pod=POD, Nodes=_NODES)
EXTENDER_BINDING_ARGS: Final = Struct("PodName PodNamespace PodUID Node")
EXTENDER_PREEMPTION_ARGS: Final = Struct(
    Pod=POD,
    NodeNameToVictims=MapOf(Struct("NumPDBViolations", Pods=POD)),
    NodeNameToMetaVictims=MapOf(Struct("NumPDBViolations", Pods=Struct("UID"))),
)
