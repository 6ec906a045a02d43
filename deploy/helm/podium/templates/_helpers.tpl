{{/* The name of all objects, at most 32 characters: pools append to it, and a StatefulSet's may have 52. */}}
{{- define "podium.fullname" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 32 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 32 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "podium.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "podium.labels" -}}
{{ include "podium.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "podium.image" -}}
image: {{ printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
{{- end -}}

{{/* True if the API listens on more than 127.0.0.1. */}}
{{- define "podium.exposed" -}}
{{- if or .Values.expose.tlsSecret .Values.expose.proxies -}}true{{- end -}}
{{- end -}}

{{/* Whether the chart makes the Ray cluster. */}}
{{- define "podium.ownRay" -}}
{{- if and .Values.ray.enabled (not .Values.ray.address) -}}true{{- end -}}
{{- end -}}

{{/* Refuses values that do not fit together. */}}
{{- define "podium.check" -}}
{{- if and (include "podium.exposed" .) (not .Values.expose.names) -}}
{{- fail "expose.names: give the host names that clients use, like podium.example.org" -}}
{{- end -}}
{{- if and (include "podium.ownRay" .) (not .Values.ray.tokenSecret) -}}
{{- fail "ray.tokenSecret: give the name of a Secret; without a token, anybody who reaches Ray can run programs on it" -}}
{{- end -}}
{{- if and .Values.ray.enabled .Values.ray.address .Values.networkPolicy.enabled (not .Values.ray.peers) -}}
{{- fail "ray.peers: give NetworkPolicy peers, which are the pods of the Ray cluster at ray.address; or disable networkPolicy" -}}
{{- end -}}
{{- if and .Values.database.standby (not .Values.database.urlSecret) -}}
{{- fail "database.standby: give database.urlSecret as well; both pods need the same PostgreSQL database" -}}
{{- end -}}
{{- if and .Values.database.standby (not .Values.ray.enabled) -}}
{{- fail "database.standby: set ray.enabled as well; the slots of both pods must be in the same Ray cluster" -}}
{{- end -}}
{{- if and .Values.database.urlSecret .Values.networkPolicy.enabled (not .Values.networkPolicy.egress) -}}
{{- fail "networkPolicy.egress: permit connections to the database of database.urlSecret; or disable networkPolicy" -}}
{{- end -}}
{{- if and .Values.artifacts.credentialsSecret (not .Values.artifacts.url) -}}
{{- fail "artifacts.credentialsSecret: give artifacts.url as well; without it, trials would get these variables" -}}
{{- end -}}
{{- if and .Values.artifacts.url .Values.networkPolicy.enabled (not .Values.networkPolicy.egress) -}}
{{- fail "networkPolicy.egress: permit connections to the object store of artifacts.url; or disable networkPolicy" -}}
{{- end -}}
{{- end -}}

{{/*
Refuses another value of database.standby than the installed StatefulSet has: Kubernetes does not change its claims. The
argument has `found`, the StatefulSet of the cluster, empty if there is none or without a cluster, and `standby`.
*/}}
{{- define "podium.checkInstalled" -}}
{{- if .found -}}
{{- if eq .standby (not (empty .found.spec.volumeClaimTemplates)) -}}
{{- fail "database.standby cannot be changed by an upgrade, since the data directory is then in another volume; deploy/README.md has the steps (To turn the standby on or off)" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* What every pod has. */}}
{{- define "podium.pod" -}}
automountServiceAccountToken: false
enableServiceLinks: false # variables of services are named PODIUM_…, like the settings of Podium
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  fsGroupChangePolicy: OnRootMismatch # the files of the data directory stay private to the user
  seccompProfile:
    type: RuntimeDefault
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* The credentials of the object store, for the containers of head and nodes only. */}}
{{- define "podium.storeCredentials" -}}
{{- with .Values.artifacts.credentialsSecret }}
envFrom:
  - secretRef:
      name: {{ . }}
{{- end }}
{{- end -}}

{{- define "podium.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{/* Where a pool is placed; the argument is the pool. */}}
{{- define "podium.placement" -}}
{{- with .nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* The resources of a pool with its GPUs; the argument is the pool. */}}
{{- define "podium.resources" -}}
{{- $resources := deepCopy .resources -}}
{{- if .gpus -}}
{{- $limits := get $resources "limits" | default dict -}}
{{- $_ := set $limits (.gpuResource | default "nvidia.com/gpu") .gpus -}}
{{- $_ := set $resources "limits" $limits -}}
{{- end -}}
{{- toYaml $resources -}}
{{- end -}}

{{/* Writable folders: the root file system is read-only. The argument is the size of /dev/shm. */}}
{{- define "podium.writableVolumes" -}}
- name: home
  emptyDir: {}
- name: tmp
  emptyDir: {}
- name: shm
  emptyDir:
    medium: Memory
    sizeLimit: {{ . }}
{{- end -}}

{{- define "podium.writableMounts" -}}
- name: home
  mountPath: /home/podium
- name: tmp
  mountPath: /tmp
- name: shm
  mountPath: /dev/shm
{{- end -}}

{{/* A probe in the pod, since the API may listen on 127.0.0.1 only. */}}
{{- define "podium.probe" -}}
{{- $tls := .root.Values.expose.tlsSecret -}}
exec:
  command:
    - /opt/podium/bin/python
    - -I
    - -c
    - >-
      import ssl, urllib.request;
      urllib.request.urlopen("{{ ternary "https" "http" (not (empty $tls)) }}://127.0.0.1:8300/{{ .path }}", timeout=4
      {{- if $tls }}, context=ssl._create_unverified_context(){{ end }}).close()
timeoutSeconds: 5
{{- end -}}
