#!/usr/bin/env bash
# Makes the chart's CRD templates from the definitions in config/crd: with a
# switch, the chart's labels, and the annotation that lets them outlive it.
set -euo pipefail
cd "$(dirname "$0")/../.."
out=charts/sinter/templates/crds
rm -rf "$out"
mkdir -p "$out"
for crd in config/crd/*_*.yaml; do
  {
    echo '{{- /* Generated from config/crd by hack/chart/crds.sh. */}}'
    echo '{{- if .Values.crds.install }}'
    # Braces in a description are text, not the template's.
    sed -e '/^---$/d' -e 's/{{/{{ "{{" }}/g' "$crd" | awk '
      { print }
      /^metadata:$/ {
        print "  labels:"
        print "    {{- include \"sinter.labels\" . | nindent 4 }}"
      }
      /^  annotations:$/ && !done {
        print "    {{- if .Values.crds.keep }}"
        print "    helm.sh/resource-policy: keep"
        print "    {{- end }}"
        done = 1
      }'
    echo '{{- end }}'
  } >"$out/$(basename "${crd#*_}")"
done
