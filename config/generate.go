// Package config is the kustomize layout. What the code asks for by markers is
// generated into it: the operator's rights and its webhooks.
package config

//go:generate controller-gen rbac:roleName=sinter-operator paths=../controllers/...;../cmd/... output:rbac:dir=rbac
//go:generate controller-gen webhook paths=../controllers/...;../cmd/... output:webhook:dir=webhook
