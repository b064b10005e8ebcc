{{/* What pods of every kind have: as whom they run, and where their secrets are. */}}
{{- define "tocsin.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
seccompProfile: {type: RuntimeDefault}
{{- end -}}

{{- define "tocsin.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end -}}

{{/* The URLs are files and no variables, so that no process which a job starts inherits them. */}}
{{- define "tocsin.secretEnv" -}}
- name: TOCSIN_DATABASE_URL_FILE
  value: /run/secrets/tocsin/database-url
{{- if .Values.redis.existingSecret }}
- name: TOCSIN_REDIS_URL_FILE
  value: /run/secrets/tocsin/redis-url
{{- end }}
{{- end -}}

{{- define "tocsin.settingsEnv" -}}
{{- range $name, $value := .Values.settings }}
- name: TOCSIN_{{ upper $name }}
  value: {{ kindIs "slice" $value | ternary (join "," $value) (toString $value) | quote }}
{{- end }}
{{- end -}}

{{- define "tocsin.mounts" -}}
- name: secrets
  mountPath: /run/secrets/tocsin
  readOnly: true
- name: tmp
  mountPath: /tmp
{{- end -}}

{{- define "tocsin.volumes" -}}
- name: secrets
  projected:
    defaultMode: 0440
    sources:
      - secret:
          name: {{ required "database.existingSecret: name the secret that holds the URL of the database" .Values.database.existingSecret }}
          items: [{key: {{ .Values.database.key | quote }}, path: database-url}]
{{- with .Values.redis.existingSecret }}
      - secret:
          name: {{ . }}
          items: [{key: {{ $.Values.redis.key | quote }}, path: redis-url}]
{{- end }}
- name: tmp
  emptyDir: {sizeLimit: 64Mi}
{{- end -}}
