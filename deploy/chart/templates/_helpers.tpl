{{- define "mooring.fullname" -}}
{{- if contains "mooring" .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}{{ else }}{{ printf "%s-mooring" .Release.Name | trunc 50 | trimSuffix "-" }}{{ end }}
{{- end }}

{{/* What this release is of mooring; with the mode in it, so that no two parts share an account. */}}
{{- define "mooring.part" -}}
{{ include "mooring.fullname" . }}-{{ eq .Values.mode "second-scheduler" | ternary "scheduler" .Values.mode }}
{{- end }}

{{- define "mooring.account" -}}
{{ .Values.serviceAccount.name | default (include "mooring.part" .) }}
{{- end }}

{{/* Whether it binds pods. */}}
{{- define "mooring.binds" -}}
{{- if ne .Values.mode "extender" }}true{{ end }}
{{- end }}

{{- define "mooring.component" -}}
{{ eq .Values.mode "second-scheduler" | ternary "scheduler" "extender" }}
{{- end }}

{{- define "mooring.selector" -}}
app.kubernetes.io/name: mooring
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "mooring.podSelector" -}}
{{ include "mooring.selector" . }}
app.kubernetes.io/component: {{ include "mooring.component" . }}
{{- end }}

{{- define "mooring.labels" -}}
{{ include "mooring.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "mooring.image" -}}
{{- with .Values.image }}
{{- if .digest }}{{ .repository }}@{{ .digest }}{{ else }}{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end }}
{{- end }}

{{/* The KubeSchedulerConfiguration in force: the mode's defaults under the values. */}}
{{- define "mooring.config" -}}
{{- $config := dict "apiVersion" "kubescheduler.config.k8s.io/v1" "kind" "KubeSchedulerConfiguration" }}
{{- if eq .Values.mode "second-scheduler" }}
{{- $lease := dict "leaderElect" true "resourceName" (include "mooring.fullname" .) "resourceNamespace" .Release.Namespace }}
{{- $profiles := list (dict "schedulerName" "mooring") }}
{{- $config = merge $config (dict "leaderElection" $lease "profiles" $profiles) }}
{{- else }}
{{- $config = merge $config (dict "leaderElection" (dict "leaderElect" false)) }}
{{- end }}
{{- toYaml (mergeOverwrite $config (deepCopy .Values.config)) }}
{{- end }}

{{- define "mooring.podMetadata" -}}
labels:
  {{- include "mooring.podSelector" . | nindent 2 }}
  {{- with .Values.podLabels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
annotations:
  checksum/config: {{ include "mooring.config" . | sha256sum }}
  {{- with .Values.podAnnotations }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}

{{/* What the pods of each mode have in common. */}}
{{- define "mooring.podSpec" -}}
{{- $loopback := eq .Values.mode "extender-loopback" }}
serviceAccountName: {{ include "mooring.account" . }}
priorityClassName: {{ .Values.priorityClassName | default ($loopback | ternary "system-node-critical" "system-cluster-critical") }}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- if .Values.nodeSelector }}
nodeSelector:
  {{- toYaml .Values.nodeSelector | nindent 2 }}
{{- else if $loopback }}
nodeSelector:
  node-role.kubernetes.io/control-plane: ""
{{- end }}
{{- if not (kindIs "invalid" .Values.tolerations) }}
tolerations:
  {{- toYaml .Values.tolerations | nindent 2 }}
{{- else if $loopback }}
tolerations:
  - operator: Exists
{{- else }}
tolerations:
  - {key: node-role.kubernetes.io/control-plane, operator: Exists, effect: NoSchedule}
{{- end }}
{{- if not (kindIs "invalid" .Values.topologySpreadConstraints) }}
topologySpreadConstraints:
  {{- toYaml .Values.topologySpreadConstraints | nindent 2 }}
{{- else if not $loopback }}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "mooring.podSelector" . | nindent 8 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  {{- if eq .Values.mode "extender" }}
  fsGroup: 65532
  {{- end }}
  seccompProfile: {type: RuntimeDefault}
{{- end }}

{{/* What all containers have in common. */}}
{{- define "mooring.container" -}}
image: {{ include "mooring.image" . }}
{{- with .Values.image.pullPolicy }}
imagePullPolicy: {{ . }}
{{- end }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
{{- end }}

{{/* What the container that decides has besides. */}}
{{- define "mooring.deciding" -}}
{{ include "mooring.container" . }}
resources:
  {{- toYaml .Values.resources | nindent 2 }}
{{- with .Values.extraEnv }}
env:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* The ServiceAccount's token, for the one container that asks the API server. */}}
{{- define "mooring.token" -}}
name: token
projected:
  sources:
  - serviceAccountToken: {path: token, expirationSeconds: 3607}
  - configMap:
      name: kube-root-ca.crt
      items:
      - {key: ca.crt, path: ca.crt}
  - downwardAPI:
      items:
      - path: namespace
        fieldRef: {fieldPath: metadata.namespace}
{{- end }}

{{- define "mooring.tokenMount" -}}
{name: token, mountPath: /var/run/secrets/kubernetes.io/serviceaccount, readOnly: true}
{{- end }}
