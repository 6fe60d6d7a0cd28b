// Package sriov runs chains on virtual functions of a network card with real SR-IOV: QEMU's igb (an Intel
// 82576) in a guest, behind an IOMMU.
//
// `make sriov-node` boots the guest, and `make e2e-sriov` runs the tests, which are skipped without it.
// docs/sriov.md says what the guest consists of.
package sriov
