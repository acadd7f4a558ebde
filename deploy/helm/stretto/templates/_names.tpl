{{- define "stretto.name" -}}
{{- $own := default .Chart.Name .Values.nameOverride -}}
{{- $name := ternary .Release.Name (printf "%s-%s" .Release.Name $own) (contains $own .Release.Name) -}}
{{- /* Names of Services have at most 63 characters. */ -}}
{{- trunc 63 $name | trimSuffix "-" }}
{{- end }}

{{- define "stretto.account" -}}
{{- default (ternary (include "stretto.name" .) "default" .Values.serviceAccount.create) .Values.serviceAccount.name }}
{{- end }}

{{- define "stretto.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "stretto.labels" -}}
{{ include "stretto.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- /* Labels of a pod: podLabels override those of the chart, except those of a selector. */ -}}
{{- define "stretto.podLabels" -}}
{{- $chosen := fromYaml (include "stretto.selector" .root) -}}
{{- $fixed := append (keys $chosen | sortAlpha) "app.kubernetes.io/component" -}}
{{- range $name, $value := .root.Values.podLabels -}}
{{- if has $name $fixed -}}
{{- fail (printf "values: podLabels: got %s=%s, expected labels other than %s, by which the Deployments find their pods; choose another name" $name $value (join ", " $fixed)) -}}
{{- end -}}
{{- end -}}
{{- $own := fromYaml (include "stretto.labels" .root) -}}
{{- with .role }}{{ $own = set $own "app.kubernetes.io/component" . }}{{ end -}}
{{- toYaml (mergeOverwrite $own (default dict .root.Values.podLabels)) -}}
{{- end }}

{{- /* The scaler has another name than the scheduler, whose selector would match its pods. */ -}}
{{- define "stretto.scalerSelector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}-scaler
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "stretto.scalerLabels" -}}
{{- $own := fromYaml (include "stretto.labels" .) -}}
{{- toYaml (mergeOverwrite $own (default dict .Values.podLabels) (fromYaml (include "stretto.scalerSelector" .))) -}}
{{- end }}

{{- define "stretto.image" -}}
{{- $tag := default .Chart.AppVersion .Values.image.tag -}}
{{- if eq $tag "latest" -}}
{{- fail "values: image.tag: got latest, expected a version: with latest two pods of one Deployment may run different schedulers; name the tag that you have pushed, or leave it empty for the chart's appVersion" -}}
{{- end -}}
{{ .Values.image.repository }}:{{ $tag }}
{{- end }}

{{- define "stretto.narrow" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}
