{{- define "holdfast.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{/* What Services, Deployments and policies select by; takes the root and the component. */}}
{{- define "holdfast.selector" -}}
app.kubernetes.io/name: holdfast
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "holdfast.podSecurity" -}}
runAsNonRoot: true
runAsUser: {{ . }}
runAsGroup: {{ . }}
fsGroup: {{ . }}
seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- define "holdfast.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}

{{/* Pods of a component prefer different nodes. */}}
{{- define "holdfast.spread" -}}
- maxSkew: 1
  topologyKey: kubernetes.io/hostname
  whenUnsatisfiable: ScheduleAnyway
  labelSelector:
    matchLabels: {{- include "holdfast.selector" . | nindent 6 }}
{{- end }}

{{/* The store itself. Kubernetes puts the password into the URL, so it stands in the Secret only. */}}
{{- define "holdfast.store" -}}
{{- if .Values.valkey.enabled -}}
- name: VALKEY_PASSWORD
  valueFrom: {secretKeyRef: {name: {{ .Values.secret }}, key: VALKEY_PASSWORD}}
- name: HOLDFAST_STORE
  value: valkey://default:$(VALKEY_PASSWORD)@{{ .Release.Name }}-valkey-primary:6379{{ with .Values.valkey.ack }}?ack={{ . }}{{ end }}
{{- else -}}
- name: HOLDFAST_STORE
  valueFrom: {secretKeyRef: {name: {{ .Values.secret }}, key: HOLDFAST_STORE}}
{{- end }}
{{- range list "HOLDFAST_CODEC_KEYS" "HOLDFAST_SECRET_KEYS" "HOLDFAST_SIGNING_KEY" }}
- name: {{ . }}
  valueFrom: {secretKeyRef: {name: {{ $.Values.secret }}, key: {{ . }}, optional: true}}
{{- end }}
{{- end }}
