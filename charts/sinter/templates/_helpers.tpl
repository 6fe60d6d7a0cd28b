{{- define "sinter.name" -}}
{{- .Values.nameOverride | default .Chart.Name | trunc 40 | trimSuffix "-" }}
{{- end }}

{{- /* At most 40 characters, so that suffixes fit behind it. */}}
{{- define "sinter.fullname" -}}
{{- $name := include "sinter.name" . }}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" }}
{{- else if contains $name .Release.Name }}
{{- .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "sinter.selectorLabels" -}}
app.kubernetes.io/name: {{ include "sinter.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "sinter.labels" -}}
{{ include "sinter.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/part-of: sinter
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "sinter.operatorSelectorLabels" -}}
{{ include "sinter.selectorLabels" . }}
app.kubernetes.io/component: operator
{{- end }}

{{- /* An image: what its own values say, else what both images share; takes (list root image name). */}}
{{- define "sinter.image" -}}
{{- $root := index . 0 }}{{ $image := index . 1 }}
{{- $repository := $image.repository | default (printf "%s/%s" $root.Values.image.registry (index . 2)) }}
{{- if $image.digest }}
{{- printf "%s@%s" $repository $image.digest }}
{{- else }}
{{- printf "%s:%s" $repository ($image.tag | default $root.Values.image.tag | default $root.Chart.AppVersion) }}
{{- end }}
{{- end }}

{{- define "sinter.serviceAccountName" -}}
{{- if .Values.operator.serviceAccount.create }}
{{- .Values.operator.serviceAccount.name | default (include "sinter.fullname" .) }}
{{- else }}
{{- .Values.operator.serviceAccount.name | default "default" }}
{{- end }}
{{- end }}

{{- define "sinter.priorityClassName" -}}
{{- if .Values.dataplane.priorityClass.create }}
{{- .Values.dataplane.priorityClass.name | default (printf "%s-dataplane" (include "sinter.fullname" .)) }}
{{- else }}
{{- .Values.dataplane.priorityClass.name }}
{{- end }}
{{- end }}

{{- define "sinter.certificateSecret" -}}
{{ include "sinter.fullname" . }}-certificate
{{- end }}

{{- /* The names under which the operator's two services are called, as a JSON list. */}}
{{- define "sinter.certificateNames" -}}
{{- $names := list }}
{{- range $service := list "webhook" "metrics" }}
{{- $name := printf "%s-%s.%s.svc" (include "sinter.fullname" $) $service $.Release.Namespace }}
{{- $names = concat $names (list $name (printf "%s.cluster.local" $name)) }}
{{- end }}
{{- toJson $names }}
{{- end }}

{{- /* The Secret with the certificate of those who read metrics for the monitors. */}}
{{- define "sinter.readerSecret" -}}
{{ include "sinter.fullname" . }}-metrics-certificate
{{- end }}

{{- /*
A certificate of a Secret for some names as JSON, takes (list root secret names):
ca, crt and key in base64, and renewAfter in Unix time. What the cluster has
stays until two thirds of its time are over; "helm template" sees no cluster and
always makes a new one.
*/}}
{{- define "sinter.certificate" -}}
{{- $root := index . 0 }}{{ $names := index . 2 }}
{{- $days := int $root.Values.webhook.certificate.validityDays }}
{{- $old := lookup "v1" "Secret" $root.Release.Namespace (index . 1) | default dict }}
{{- $renewAfter := dig "metadata" "annotations" "nfv.sinter.dev/renew-after" "0" $old | int64 }}
{{- if gt $renewAfter (now | unixEpoch | int64) }}
{{- dict "ca" (index $old.data "ca.crt") "crt" (index $old.data "tls.crt") "key" (index $old.data "tls.key") "renewAfter" $renewAfter | toJson }}
{{- else }}
{{- $ca := genCA (printf "%s-ca" (include "sinter.fullname" $root)) $days }}
{{- $cert := genSignedCert (first $names) nil $names $days $ca }}
{{- $renewAfter = add (now | unixEpoch | int64) (div (mul $days 86400 2) 3) }}
{{- dict "ca" ($ca.Cert | b64enc) "crt" ($cert.Cert | b64enc) "key" ($cert.Key | b64enc) "renewAfter" $renewAfter | toJson }}
{{- end }}
{{- end }}

{{- define "sinter.issuerRef" -}}
{{- with .Values.webhook.certificate.certManager.issuerRef }}
{{- toYaml . }}
{{- else -}}
kind: Issuer
name: {{ include "sinter.fullname" . }}
{{- end }}
{{- end }}

{{- define "sinter.lease" -}}
operator.nfv.sinter.dev
{{- end }}
